package conformance

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
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
						declare.Limit{Name: "scales", AtOnce: 1, Hold: declare.HoldEvent}))
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

// All workers of the subscription are busy for long when it is paused.
func (env *Env) TestAPauseFreesWhatEventsHoldAlsoWhileAllWorkersAreBusy(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "one", AtOnce: 1, Hold: declare.HoldEvent}))
			one, err := f.Limiter("one")
			Must(t, err)
			f.handleUsers("sub", func(ctx context.Context, e runtime.Event[UserCreated]) error {
				if e.Payload.Name == "a" && e.Attempt == 1 {
					return runtime.Snooze(time.Hour)
				}
				rest(ctx, 10*time.Minute)
				return nil
			}, runtime.WithConcurrency(concurrency), limitedBy("one by name"), runtime.WithTimeout(time.Hour))
			f.users("a", "b", "c")
			f.MustStart()
			time.Sleep(time.Minute)
			Must(t, f.PauseSubscription(t.Context(), "sub"))
			began := time.Now()
			Must(t, one.DoFor(t.Context(), "a", func(context.Context) error { return nil }))
			if took := time.Since(began); took > 0 {
				t.Errorf("what a holds was free %v after the pause", took)
			}
		})
	}
}

// A strict order reads the retries that its keys wait for, whatever else it has in memory. All of them are due at
// once here, and have no room.
func (env *Env) TestAStrictOrderReadsNoMoreRetriesThanItHasRoomFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(weighed).WithLimits(declare.Limit{Name: "scales", AtOnce: 1}))
		const all = 1500
		var failed, handled atomic.Int32
		s := f.handleWeighed("one", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Attempt == 1 {
				failed.Add(1)
				return ErrBoom
			}
			handled.Add(1)
			return nil
		}, limitedBy("scales"), runtime.WithStrictOrder(), runtime.WithConcurrency(4),
			runtime.WithRetry(retry.BaseDelay(time.Hour), retry.MaxDelay(time.Hour), retry.Jitter(0)))
		for n := range all {
			f.weigh(n, fmt.Sprint(n), 1)
		}
		f.MustStart()
		time.Sleep(30 * time.Minute)
		scales, err := f.Limiter("scales")
		Must(t, err)
		free := make(chan struct{})
		go scales.Do(context.Background(), func(context.Context) error { <-free; return nil })
		time.Sleep(time.Hour)
		if failed.Load() != all {
			t.Errorf("%d have failed, want %d", failed.Load(), all)
		}
		for n := range 100 { // each wakes the subscription
			f.weigh(all+n, fmt.Sprint(all+n), 1)
			time.Sleep(time.Second)
		}
		limited := 0
		for _, stats := range f.Stats().Subscriptions {
			if stats.Name == s.Name() {
				limited = stats.Limited
			}
		}
		if limited < 256 || limited > 600 {
			t.Errorf("%d retries are in memory, want no more than two windows", limited)
		}
		close(free)
		f.Idle()
		if handled.Load() != all+100 {
			t.Errorf("%d were handled, want %d", handled.Load(), all+100)
		}
	})
}

// One delivery of the subscription holds the limit for its next attempt, and others wait for it.
func (env *Env) TestASubscriptionThatIsRemovedLeavesNobodyInLineForItsLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1, Hold: declare.HoldEvent}))
		var seen, other Journal[int]
		f.Handle("old", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Payload.Number)
			return runtime.Snooze(time.Hour)
		}, runtime.WithConcurrency(2), limitedBy("mail"))
		f.Handle("other", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			other.Add(e.Payload.Number)
			return nil
		}, limitedBy("mail"))
		Must(t, f.PauseSubscription(t.Context(), "other"))
		f.MustStart()
		f.Publish(1, 2, 3)
		time.Sleep(time.Minute)
		for _, s := range f.Stats().Subscriptions {
			if s.Name == "old" && s.Limited == 0 {
				t.Fatal("nothing waits for the limit")
			}
		}
		Must(t, f.ResumeSubscription(t.Context(), "other"))
		time.Sleep(time.Minute)
		other.wants(t)
		Must(t, f.Remove(t.Context(), "old"))
		f.idleWithin(time.Minute)
		seen.wants(t, 1)
		other.wants(t, 1, 2, 3)
		f.hasRoom(t, "mail", "", 1)
		// A subscription of its name begins as a new one.
		f.Handle("old", func(_ context.Context, e runtime.Event[OrderPlaced]) error { seen.Add(e.Payload.Number); return nil }, limitedBy("mail"))
		f.Publish(4)
		f.Idle()
		seen.wants(t, 1, 4)
	})
}
