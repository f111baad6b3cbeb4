package conformance

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
)

// Events that are stored a moment before a shutdown may reach the process while it lets go of its subscriptions.
func (env *Env) TestEventsThatArePublishedRightBeforeAShutdownAreHandledAfterIt(t *testing.T) {
	for name, opts := range map[string][]runtime.PublishOption{"at once": nil, "delayed": {runtime.WithDelay(time.Second)}} {
		for n := range 20 {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var handled atomic.Int32
					handle := func(context.Context, runtime.Event[OrderPlaced]) error {
						handled.Add(1)
						return nil
					}
					f := env.Open(t)
					f.Handle("billing", handle)
					f.MustStart()
					_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, make300(), opts...)
					Must(t, err)
					if n%2 == 1 {
						synctest.Wait()
					}
					f.Stop()
					f = env.Reopen(t, f.Path)
					f.Handle("billing", handle)
					f.MustStart()
					f.Idle()
					if got := handled.Load(); got != 300 {
						t.Errorf("%d events are handled, want 300", got)
					}
				})
			})
		}
	}
}

func make300() (orders []OrderPlaced) {
	for i := range 300 {
		orders = append(orders, OrderPlaced{OrderID: "A", Number: i})
	}
	return orders
}
