package runtimetest

import (
	"context"
	"fmt"
	goruntime "runtime"
	"sync"
	"testing"

	"github.com/busgen/busgen/runtime"
)

// EveryStep shows what a crash does to handlers that work in steps (package step). It calls f as [Run] does: once without
// a crash, and then once for each point of that run, in a test of its own, with a crash there. The points are before
// each step is stored and after it. The name of the test says which one: "crash before charge is stored". Waits and undos are
// steps, too: an undo of charge is called undo:charge.
//
//	func TestAnOrderSurvivesEachCrash(t *testing.T) {
//		runtimetest.EveryStep(t, events.Catalogue, func(t *testing.T, kit *runtimetest.Kit) {
//			bank := &bank{}
//			kit.Setup(func(bus *runtime.Bus) error { return shop.Subscribe(bus, bank) })
//			kit.Publish(eventstest.SampleOrderPlaced())
//			kit.Drain()
//			if len(bank.charges) != 1 {
//				t.Errorf("charged: %v", bank.charges)
//			}
//		})
//	}
//
// A crash before a step is stored comes after its function has returned, unless that is one of a transaction. So the
// next attempt calls the function again. A fake of the world outside must therefore be idempotent, as the real one is: it
// knows a call by its key (step.Key). What survives the crash, such as this fake, is made in f and not in the function
// that [Kit.Setup] calls.
//
// The handler stops at its point, and [Kit.Deliver], [Kit.Advance] or [Kit.Drain] crashes the bus ([Kit.Crash]), starts the
// next one, and goes on. Of that handler only deferred functions run any more. So end f with one of them before it checks, and use [Kit.Bus] afresh after each. The crash
// counts as an attempt of the step, as it does in a program: with max_attempts 1 the event is a dead letter. A test fails
// if its point does not come again. f does the same in each run, then, with a seed for what is random.
func EveryStep(t *testing.T, catalogue *runtime.Catalogue, f func(t *testing.T, k *Kit), opts ...runtime.Option) {
	t.Helper()
	once := func(t *testing.T, at *stepPoint) (points []stepPoint) {
		t.Helper()
		run(t, catalogue, func() *crashes { return newCrashes(at) }, func(t *testing.T, k *Kit) {
			f(t, k)
			points = k.crashes.seen()
			if problem := k.crashes.missed(); problem != "" {
				t.Errorf("runtimetest: EveryStep: %s", problem)
			}
		}, opts)
		return points
	}
	var points []stepPoint
	if !t.Run("no crash", func(t *testing.T) { points = once(t, nil) }) {
		return // each crash would say the same again
	}
	if len(points) == 0 {
		t.Error("runtimetest: EveryStep: no handler has stored a step: does f publish, and wait with Deliver, Advance or Drain?")
	}
	for _, at := range points {
		t.Run("crash "+at.String(), func(t *testing.T) { once(t, &at) })
	}
}

// stepPoint is a moment in the life of a step.
type stepPoint struct {
	subscription, step string
	stored             bool
	nth                int // of the points of this step; from 0
}

func (p stepPoint) String() string {
	when := "before"
	if p.stored {
		when = "after"
	}
	return fmt.Sprintf("%s %s is stored", when, p.step)
}

// crashes is where a kit is to crash; nil for a kit that notes no points. A handler that comes to the point of the crash
// stays there until the kit has crashed.
type crashes struct {
	at    *stepPoint    // nil for no crash
	due   chan struct{} // closed when a handler is there
	over  chan struct{} // closed when the kit has crashed, or the test ends
	ended sync.Once     // closes over

	mu     sync.Mutex
	points []stepPoint // in the order in which handlers have come to them
	met    bool        // a handler is at the point of the crash, or was
}

// newCrashes is called in the bubble, so that waiting for its channels lets time pass.
func newCrashes(at *stepPoint) *crashes {
	return &crashes{at: at, due: make(chan struct{}), over: make(chan struct{})}
}

// point is called by handlers at each point.
func (c *crashes) point(subscription, step string, stored bool) {
	if c.here(stepPoint{subscription: subscription, step: step, stored: stored}) {
		<-c.over
		goruntime.Goexit() // nothing of a dead process goes on, and so it does not begin the next step
	}
}

// here notes a point, and reports whether the crash is to be there.
func (c *crashes) here(p stepPoint) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, before := range c.points {
		if before.subscription == p.subscription && before.step == p.step && before.stored == p.stored {
			p.nth++
		}
	}
	c.points = append(c.points, p)
	if c.at == nil || c.met || p != *c.at {
		return false
	}
	c.met = true
	close(c.due)
	return true
}

// wait returns what is closed when a handler waits for the crash; nil if none will.
func (c *crashes) wait() <-chan struct{} {
	if c == nil {
		return nil
	}
	select {
	case <-c.over:
		return nil
	default:
		return c.due
	}
}

// isDue reports whether a handler waits for the crash.
func (c *crashes) isDue() bool {
	select {
	case <-c.wait():
		return true
	default:
		return false
	}
}

// end ends the handler that waits for the crash.
func (c *crashes) end() {
	if c != nil {
		c.ended.Do(func() { close(c.over) })
	}
}

func (c *crashes) seen() []stepPoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.points
}

// missed says why there was no crash though there should be one.
func (c *crashes) missed() string {
	switch due := c.isDue(); {
	case c.at == nil:
		return ""
	case due:
		return "a handler waits for its crash: call Deliver, Advance or Drain before the test ends"
	case !c.met:
		return fmt.Sprintf("no handler has come to the point of its crash, %s of subscription %s: f must do the same in each run", c.at, c.at.subscription)
	}
	return ""
}

// crashIfDue crashes the bus if a handler waits for that, and starts the next one. It reports whether it has.
func (k *Kit) crashIfDue() bool {
	k.t.Helper()
	if !k.crashes.isDue() {
		return false
	}
	k.Crash()
	k.Start()
	return true
}

// untilCrash returns a context that ends, too, when a handler waits for the crash.
func (k *Kit) untilCrash(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if due := k.crashes.wait(); due != nil {
		go func() {
			select {
			case <-due:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}
