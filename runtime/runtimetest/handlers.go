package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Fault stands between a delivery and its handler. It may call the handler, and its
// result replaces the handler's. It is called with the handler's ctx, on the handler's
// goroutine.
type Fault func(ctx context.Context, handle func() error) error

// Fails returns err without calling the handler.
func Fails(err error) Fault {
	return func(context.Context, func() error) error { return err }
}

// FailsAfter calls the handler and, if it has succeeded, returns err. So the handler
// runs again for the same event: this shows whether it is idempotent. Events that it
// has published with its ctx are not stored.
func FailsAfter(err error) Fault {
	return func(_ context.Context, handle func() error) error {
		if failed := handle(); failed != nil {
			return failed
		}
		return err
	}
}

// Panics panics with value without calling the handler.
func Panics(value any) Fault {
	return func(context.Context, func() error) error { panic(value) }
}

// Hangs waits until ctx ends, without calling the handler: until the attempt
// has timed out, the bus has crashed, or the test ends.
func Hangs() Fault {
	return func(ctx context.Context, _ func() error) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

// Always is the number of deliveries for a fault that does not end by itself.
const Always = -1

// Break puts a fault in front of a handler, for the next n deliveries to its
// subscription; each retry counts as one, and each batch of a handler of batches. The faults of several calls come one after
// the other. Break can be called from any goroutine, also before the subscription is
// made. The test fails if its end comes before n deliveries have met the fault, unless
// n is [Always].
func (k *Kit) Break(subscription string, n int, fault Fault) {
	k.t.Helper()
	if n <= 0 && n != Always {
		k.t.Fatalf("runtimetest: Break: the number of deliveries is %d; use 1 or more, or Always", n)
	}
	k.broken.add(subscription, n, fault)
}

// Repair ends the faults of a subscription that [Kit.Break] has set. An attempt that is
// in a fault at the moment stays in it.
func (k *Kit) Repair(subscription string) { k.broken.remove(subscription) }

// intercept is called in place of every handler.
func (k *Kit) intercept(ctx context.Context, subscription string, handle func() error) error {
	k.calls.Add(1)
	defer k.calls.Add(1)
	fault := k.broken.next(subscription)
	if fault == nil {
		return handle()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(k.broken.ending, func() { cancel(errEnded) })()
	return fault(ctx, handle)
}

// errEnded is why faults end that are still going on at the end of a test.
var errEnded = errors.New("the test has ended")

// breakage holds the faults of each subscription, in order.
type breakage struct {
	ending context.Context // ends with the test
	end    context.CancelFunc

	mu sync.Mutex
	of map[string][]*planned
}

func newBreakage() *breakage {
	b := &breakage{of: map[string][]*planned{}}
	b.ending, b.end = context.WithCancel(context.Background())
	return b
}

type planned struct {
	fault Fault
	left  int // deliveries that are to meet it
}

func (b *breakage) add(subscription string, n int, fault Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of[subscription] = append(b.of[subscription], &planned{fault, n})
}

func (b *breakage) remove(subscription string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.of, subscription)
}

// next returns the fault for a delivery, or nil.
func (b *breakage) next(subscription string) Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	plans := b.of[subscription]
	if len(plans) == 0 || b.ending.Err() != nil {
		return nil
	}
	one := plans[0]
	if one.left != Always {
		if one.left--; one.left == 0 {
			b.of[subscription] = plans[1:]
		}
	}
	return one.fault
}

// unmet says which faults were not met.
func (b *breakage) unmet() (lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for subscription, plans := range b.of {
		n := 0
		for _, one := range plans {
			n += max(one.left, 0) // Always is less
		}
		if n > 0 {
			lines = append(lines, fmt.Sprintf("subscription %s should have failed %d more times: it had too few deliveries, or its name is misspelt", subscription, n))
		}
	}
	slices.Sort(lines)
	return lines
}
