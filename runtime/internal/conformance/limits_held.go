package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// What events hold between their attempts (HoldEvent).

func (env *Env) TestASubscriptionReadsNoFurtherWhileManyEventsHoldLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "customer", AtOnce: 1, Hold: declare.HoldEvent}))
		var first, second atomic.Int32
		f.Handle("one", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Attempt > 1 {
				second.Add(1)
				return nil
			}
			first.Add(1)
			return runtime.Snooze(time.Hour)
		}, runtime.WithConcurrency(8), limitedBy("customer by order_id"))
		var batch []OrderPlaced
		for n := range 2000 {
			batch = append(batch, OrderPlaced{OrderID: fmt.Sprint(n), Number: n})
		}
		_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, batch)
		Must(t, err)
		f.MustStart()
		time.Sleep(30 * time.Minute)
		if n := first.Load(); n < 1024 || n > 1024+256 {
			t.Errorf("%d events hold a limit, want 1024 and what was in memory", n)
		}
		said := 0
		for _, line := range f.Log.Level(t, "WARN") {
			if strings.HasPrefix(fmt.Sprint(line["msg"]), "many events hold limits") {
				said++
			}
		}
		if said != 1 {
			t.Errorf("the log says so %d times, want once", said)
		}
		f.Idle()
		if first.Load() != 2000 || second.Load() != 2000 {
			t.Errorf("%d first attempts and %d second ones, want 2000 each", first.Load(), second.Load())
		}
	})
}

// The retry is due while the handler that has outlived its deadline is not yet left behind.
func (env *Env) TestARetryDoesNotBeginInTheLimitThatItsHandlerIsStillAtWorkIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "one", AtOnce: 1, Hold: declare.HoldEvent}))
		var g gauge
		var began Journal[time.Duration]
		start := time.Now()
		f.handleUsers("sub", func(_ context.Context, e runtime.Event[UserCreated]) error {
			began.Add(time.Since(start))
			if e.Attempt < 3 {
				g.work() // a second: it ignores its context for most of it
			}
			return nil
		}, runtime.WithConcurrency(4), runtime.WithTimeout(500*time.Millisecond), limitedBy("one"),
			runtime.WithRetry(retry.MaxAttempts(5), retry.BaseDelay(time.Millisecond), retry.Jitter(0)))
		f.users("a")
		f.MustStart()
		f.Idle()
		if g.most.Load() != 1 {
			t.Errorf("%d were at work in the limit at once, want 1", g.most.Load())
		}
		if all := began.All(); len(all) != 3 || all[2] < 2*time.Second || all[2] > 3*time.Second {
			t.Errorf("attempts have begun at %v, want one each second", all)
		}
	})
}

// A pause frees what an event holds, but not from under a handler that has outlived its deadline.
func (env *Env) TestAPauseDoesNotFreeALimitThatAHandlerIsStillAtWorkIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "one", AtOnce: 1, Hold: declare.HoldEvent}))
		one, err := f.Limiter("one")
		Must(t, err)
		var g gauge
		f.handleUsers("sub", func(context.Context, runtime.Event[UserCreated]) error { g.work(); return nil },
			runtime.WithConcurrency(4), runtime.WithTimeout(500*time.Millisecond), limitedBy("one"))
		f.users("a")
		f.MustStart()
		time.Sleep(600 * time.Millisecond)
		Must(t, f.PauseSubscription(t.Context(), "sub"))
		Must(t, one.Do(t.Context(), func(context.Context) error { g.work(); return nil }))
		if g.most.Load() != 1 {
			t.Errorf("%d were at work in the limit at once, want 1", g.most.Load())
		}
	})
}
