package conformance

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

// Retries of events that hold limits (HoldEvent), beside handlers that wait for events.

// The retry is due while a handler of its partition key, or of its only place, waits for another event.
func (env *Env) TestARetryThatHoldsALimitDoesNotBeginInWhatAHandlerHasLent(t *testing.T) {
	for name, opts := range map[string][]runtime.SubscribeOption{
		"its key":   {runtime.WithConcurrency(2)},
		"its place": nil,
	} {
		for needed, want := range map[string][]string{
			"":                 {"1.1 0s", "2.1 0s", "2.1 has ended 1m0s", "1.2 1m0s"},
			"scales by weight": {"1.1 0s", "2.1 0s", "1.2 10s", "2.1 has ended 1m10s"}, // else nobody could go on
		} {
			t.Run(fmt.Sprintf("%s, awaited needs %q", name, needed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(weighed, PaidType, UserType).WithLimits(
						runtime.Limit{Name: "scales", AtOnce: 1, Hold: runtime.HoldEvent}))
					var ran Journal[string]
					start := time.Now()
					note := func(what string) { ran.Add(fmt.Sprint(what, " ", time.Since(start).Round(time.Second))) }
					f.handleWeighed("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
						note(fmt.Sprintf("%d.%d", e.Payload.Number, e.Attempt))
						if e.Payload.Number == 1 {
							if e.Attempt == 1 {
								return ErrBoom
							}
							return nil
						}
						r, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: "A"}, runtime.Immediately())
						if err == nil {
							_, err = r.Wait(ctx)
						}
						note("2.1 has ended")
						return err
					}, append(opts, runtime.WithTimeout(time.Hour), runtime.WithRetry(retry.BaseDelay(10*time.Second), retry.Jitter(0)))...)
					scales, err := f.Limiter("scales")
					Must(t, err)
					_, err = runtime.Subscribe(f.Bus, PaidType, "awaited", func(ctx context.Context, _ runtime.Event[OrderPaid]) error {
						work := func(context.Context) error { time.Sleep(time.Minute); return nil }
						if needed == "" {
							return work(ctx)
						}
						return scales.DoFor(ctx, "1", work)
					}, runtime.WithTimeout(time.Hour))
					Must(t, err)
					f.weigh(1, "A", 1)
					f.weigh(2, "A", 2)
					f.MustStart()
					f.Idle()
					ran.wants(t, want...)
				})
			})
		}
	}
}
