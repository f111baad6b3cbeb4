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
}

func (l *lag) wait() {
	l.mu.Lock()
	over := l.over
	l.mu.Unlock()
	if over != nil {
		<-over
	}
}

func (l *lag) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = make(chan struct{})
}

func (l *lag) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.over)
	l.over = nil
}

// The owner stores a success while the one that goes on reads a replica that lags: it knows
// the delivery as one that waits for a retry.
func TestWhoGoesOnHasReadWhatTheLastOwnerHasStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t, t.TempDir())
		var handled, children conformance.Journal[int]
		subscribe := func(bus *runtime.Bus) {
			_, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
				if e.Attempt == 1 {
					return errors.New("not yet")
				}
				handled.Add(e.Attempt)
				_, err := runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{})
				return err
			}, runtime.WithRetry(retry.WithBackoff(retry.Constant), retry.BaseDelay(5*time.Second), retry.Jitter(0)))
			conformance.Must(t, err)
			conformance.Must(t, bus.Start(t.Context()))
		}
		var behind lag
		owner, line := process(t, server, nil)
		subscribe(owner)
		next, _ := process(t, server, nil, jetstream.Lagging(behind.wait))
		subscribe(next)
		_, err := runtime.Publish(t.Context(), owner, conformance.PlacedType, conformance.OrderPlaced{})
		conformance.Must(t, err)
		time.Sleep(3 * time.Second) // it waits, and both know
		behind.begin()
		time.Sleep(5 * time.Second) // it is handled
		line.Cut()
		time.Sleep(15 * time.Second)
		behind.end()
		time.Sleep(15 * time.Second)
		_, err = runtime.Subscribe(next, conformance.PaidType, "children", func(context.Context, runtime.Event[conformance.OrderPaid]) error {
			children.Add(1)
			return nil
		}, runtime.FromBeginning())
		conformance.Must(t, err)
		time.Sleep(5 * time.Second)
		if len(handled.All()) != 1 || len(children.All()) != 1 {
			t.Errorf("the event was handled %d times, and has %d children; want 1 and 1", len(handled.All()), len(children.All()))
		}
	})
}
