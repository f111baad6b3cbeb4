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
)

// What events hold between their attempts (HoldEvent).

func (env *Env) TestASubscriptionReadsNoFurtherWhileManyEventsHoldLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(runtime.Limit{Name: "customer", AtOnce: 1, Hold: runtime.HoldEvent}))
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
