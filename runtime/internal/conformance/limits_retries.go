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

func (env *Env) TestASubscriptionThatIsRemovedLeavesNobodyInLineForItsLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
		var seen, other Journal[int]
		f.Handle("old", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Payload.Number)
			return nil
		}, runtime.WithConcurrency(2), limitedBy("mail"))
		f.Handle("other", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			other.Add(e.Payload.Number)
			return nil
		}, limitedBy("mail"))
		free := f.occupy("mail", "")
		f.MustStart()
		f.Publish(1, 2, 3)
		time.Sleep(time.Minute)
		for _, s := range f.Stats().Subscriptions {
			if s.Name == "old" && s.Limited == 0 {
				t.Fatal("nothing waits for the limit")
			}
		}
		Must(t, f.Remove(t.Context(), "old"))
		free()
		f.idleWithin(time.Minute)
		seen.wants(t)
		other.wants(t, 1, 2, 3)
		f.hasRoom(t, "mail", "", 1)
		// A subscription of its name begins as a new one.
		f.Handle("old", func(_ context.Context, e runtime.Event[OrderPlaced]) error { seen.Add(e.Payload.Number); return nil }, limitedBy("mail"))
		f.Publish(4)
		f.Idle()
		seen.wants(t, 4)
	})
}
