package conformance

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// Deliveries that wait for a limit keep their partition keys, also if they are urgent: a handler
// waits for their event.

func (env *Env) TestALaterEventOfAKeyDoesNotOvertakeOneThatAHandlerWaitsFor(t *testing.T) {
	for name, opts := range map[string][]runtime.SubscribeOption{
		"one place":    nil,
		"four places":  {runtime.WithConcurrency(4)},
		"strict order": {runtime.WithConcurrency(4), runtime.WithStrictOrder()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.openWeighed(t)
				var seen Journal[int]
				f.handleWeighed("one", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					seen.Add(e.Payload.Number)
					return nil
				}, opts...)
				f.handleUsers("asker", func(ctx context.Context, e runtime.Event[UserCreated]) error {
					r, err := runtime.Publish(ctx, f.Bus, weighed, OrderPlaced{Number: 1, OrderID: "A", Weight: 1}, runtime.Immediately())
					if err == nil {
						_, err = r.Wait(ctx)
					}
					return err
				}, runtime.WithTimeout(time.Hour))
				f.users("a")
				f.MustStart()
				time.Sleep(time.Second)
				f.weigh(2, "A", 2)
				f.weigh(3, "B", 2)
				f.weigh(4, "A", 3)
				f.Idle()
				seen.wants(t, 3, 1, 2, 4)
			})
		})
	}
}

func (env *Env) TestAStrictKeyWaitsForARetryThatWaitsForALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(weighed).WithLimits(declare.Limit{Name: "scales", AtOnce: 1}))
		var seen Journal[string]
		f.handleWeighed("one", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(fmt.Sprintf("%d.%d", e.Payload.Number, e.Attempt))
			if e.Payload.Number == 1 && e.Attempt == 1 {
				return ErrBoom
			}
			return nil
		}, runtime.WithConcurrency(4), runtime.WithStrictOrder(),
			runtime.WithRetry(retry.BaseDelay(10*time.Second)))
		f.MustStart()
		f.weigh(1, "A", 1)
		time.Sleep(time.Second)
		f.weighFor(time.Minute)
		f.weigh(2, "A", 2)
		f.weigh(3, "B", 2)
		f.Idle()
		seen.wants(t, "1.1", "3.1", "1.2", "2.1")
	})
}

func (env *Env) TestALimitOfAllSubscriptionsKeepsTheOrderOfAKey(t *testing.T) {
	for _, concurrency := range []int{1, 3} {
		for _, atOnce := range []int{1, 2} {
			t.Run(fmt.Sprintf("%d places, %d at once", concurrency, atOnce), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "all", AtOnce: atOnce}))
					var seen Journal[int]
					f.Handle("one", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
						time.Sleep(time.Duration(e.Payload.Number%3) * time.Second)
						seen.Add(e.Payload.Number)
						return nil
					}, limitedBy("all"), runtime.WithConcurrency(concurrency))
					f.handleUsers("two", func(context.Context, runtime.Event[UserCreated]) error {
						time.Sleep(time.Second)
						return nil
					}, limitedBy("all"), runtime.WithConcurrency(2))
					f.MustStart()
					var want []int
					for n := range 20 {
						f.users("a", "b")
						f.Publish(n)
						want = append(want, n)
						time.Sleep(time.Duration(n%4) * 500 * time.Millisecond)
					}
					f.Idle()
					seen.wants(t, want...)
				})
			})
		}
	}
}
