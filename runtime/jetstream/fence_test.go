package jetstream_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/retry"
)

// lag holds up what a process learns, as when the replica that it reads lags behind.
type lag struct {
	mu   sync.Mutex
	over chan struct{} // nil while nothing is held up
	one  chan struct{} // lets single messages pass
}

func (l *lag) wait() {
	l.mu.Lock()
	over, one := l.over, l.one
	l.mu.Unlock()
	if over != nil {
		select {
		case <-over:
		case <-one:
		}
	}
}

func (l *lag) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over, l.one = make(chan struct{}), make(chan struct{}, 1000)
}

// pass lets the process learn of some messages, and gives it time to act on each.
func (l *lag) pass(messages int) {
	for range messages {
		l.one <- struct{}{}
		time.Sleep(time.Second)
	}
}

func (l *lag) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.over)
	l.over = nil
}

// parents is a bus on which each event that is handled has one child.
type parents struct {
	t                 *testing.T
	server            *servertest.Server
	handled, children conformance.Journal[int]
}

// subscribe makes a process handle events by work, and then publish the child.
func (p *parents) subscribe(bus *runtime.Bus, work func(runtime.Event[conformance.OrderPlaced]) error) {
	p.t.Helper()
	_, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
		if err := work(e); err != nil {
			return err
		}
		p.handled.Add(e.Attempt)
		_, err := runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{})
		return err
	}, runtime.WithRetry(retry.WithBackoff(retry.Constant), retry.BaseDelay(5*time.Second), retry.Jitter(0)))
	conformance.Must(p.t, err)
	conformance.Must(p.t, bus.Start(p.t.Context()))
}

func (p *parents) publish(bus *runtime.Bus) {
	p.t.Helper()
	_, err := runtime.Publish(p.t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{})
	conformance.Must(p.t, err)
}

// count returns how many children there are.
func (p *parents) count(bus *runtime.Bus) int {
	p.t.Helper()
	_, err := runtime.Subscribe(bus, conformance.PaidType, "children", func(context.Context, runtime.Event[conformance.OrderPaid]) error {
		p.children.Add(1)
		return nil
	}, runtime.FromBeginning())
	conformance.Must(p.t, err)
	time.Sleep(5 * time.Second)
	return len(p.children.All())
}

func succeeds(runtime.Event[conformance.OrderPlaced]) error { return nil }

// The owner stores a success while the one that goes on reads a replica that lags: it knows
// the delivery as one that waits for a retry.
func TestWhoGoesOnHasReadWhatTheLastOwnerHasStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &parents{t: t, server: servertest.Start(t, t.TempDir())}
		secondTime := func(e runtime.Event[conformance.OrderPlaced]) error {
			if e.Attempt == 1 {
				return errors.New("not yet")
			}
			return nil
		}
		var behind lag
		owner, line := process(t, p.server, nil)
		p.subscribe(owner, secondTime)
		next, _ := process(t, p.server, nil, jetstream.Lagging(behind.wait))
		p.subscribe(next, secondTime)
		p.publish(owner)
		time.Sleep(3 * time.Second) // it waits, and both know
		behind.begin()
		time.Sleep(5 * time.Second) // it is handled
		line.Cut()
		time.Sleep(15 * time.Second)
		behind.end()
		time.Sleep(15 * time.Second)
		if children := p.count(next); children != 1 || len(p.handled.All()) != 1 {
			t.Errorf("the event was handled %d times, and has %d children; want 1 and 1", len(p.handled.All()), children)
		}
	})
}

// Its handler returns while it is stopped, so that its verdict is on the way when it goes on.
func TestWhatAnOwnerSaysAfterItsTakeoverIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &parents{t: t, server: servertest.Start(t, t.TempDir())}
		slowly := func(runtime.Event[conformance.OrderPlaced]) error { time.Sleep(2 * time.Second); return nil }
		owner, line := process(t, p.server, nil)
		p.subscribe(owner, slowly)
		next, _ := process(t, p.server, nil)
		p.subscribe(next, succeeds)
		p.publish(next)
		time.Sleep(time.Second)
		line.Freeze()
		time.Sleep(9 * time.Second) // after ten the server would drop the connection
		line.Thaw()
		time.Sleep(20 * time.Second)
		if children := p.count(next); children != 1 || len(p.handled.All()) != 2 {
			t.Errorf("the event was handled %d times, and has %d children; want 2 and 1", len(p.handled.All()), children)
		}
	})
}

// The owner is cut off in the middle of each of its writes, one after the other.
func TestWhereverAnOwnerIsCutOffAnEventHasOneChild(t *testing.T) {
	for writes := 1; writes <= 8; writes++ {
		synctest.Test(t, func(t *testing.T) {
			p := &parents{t: t, server: servertest.Start(t, t.TempDir())}
			owner, line := process(t, p.server, nil)
			p.subscribe(owner, succeeds)
			next, _ := process(t, p.server, nil)
			p.subscribe(next, succeeds)
			time.Sleep(5 * time.Second)
			line.CutAfter(writes)
			p.publish(next)
			time.Sleep(time.Second)
			line.Cut()
			time.Sleep(20 * time.Second)
			if children := p.count(next); children != 1 {
				t.Errorf("cut off in write %d: the event was handled %d times, and has %d children; want 1", writes, len(p.handled.All()), children)
			}
		})
	}
}
