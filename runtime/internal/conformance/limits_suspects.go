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
)

// Suspects of a crash run alone, and so does code of the program that computes their keys of limits.

// The limit is tuned in while a suspect is at work and the next one is in memory.
func (env *Env) TestTheLimitKeyOfASuspectIsComputedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var atWork, beside, computed, handled atomic.Int32
		var watching atomic.Bool
		placed := runtime.Define(runtime.Spec[OrderPlaced]{
			Name: "order.placed", Settings: Within(30*time.Second, Exact()),
			PartitionBy: func(p OrderPlaced) string { return p.OrderID },
			LimitKeys: map[string]func(OrderPlaced) string{"order_id": func(p OrderPlaced) string {
				if watching.Load() {
					computed.Add(1)
					beside.Add(atWork.Load())
				}
				return p.OrderID
			}},
		})
		catalogue := runtime.NewCatalogue(placed).WithLimits(declare.Limit{Name: "one", AtOnce: 1})
		open := func(target string, handler runtime.Handler[OrderPlaced]) *Fixture {
			f := env.ReopenWith(t, target, catalogue)
			_, err := runtime.Subscribe(f.Bus, placed, "sub", handler, runtime.WithConcurrency(4), runtime.WithTimeout(time.Hour))
			Must(t, err)
			f.MustStart()
			return f
		}
		f := open(env.Target(t), Hang)
		for _, order := range []string{"A", "B", "C"} {
			_, err := runtime.Publish(t.Context(), f.Bus, placed, OrderPlaced{OrderID: order})
			Must(t, err)
		}
		time.Sleep(time.Second)
		f = open(f.Killed(), func(context.Context, runtime.Event[OrderPlaced]) error {
			atWork.Add(1)
			time.Sleep(time.Minute)
			atWork.Add(-1)
			handled.Add(1)
			return nil
		})
		time.Sleep(time.Second)
		watching.Store(true)
		settings := placed.Any().Settings()
		settings.Limits = []declare.LimitUse{{Limit: "one", By: "order_id"}}
		Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"order.placed": settings}}))
		f.idleWithin(time.Hour)
		if computed.Load() < 2 || beside.Load() > 0 || handled.Load() != 3 {
			t.Errorf("%d keys were computed, %d beside a suspect, and %d were handled, want 2, 0 and 3", computed.Load(), beside.Load(), handled.Load())
		}
	})
}

// Its key takes a while, so that an engine can store that it is computed.
func (env *Env) TestAnEventOfWhichOnlyTheKeyWasComputedIsNoSuspectOfACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		placed := runtime.Define(runtime.Spec[OrderPlaced]{
			Name: "order.placed", Settings: Within(30*time.Second, Exact()),
			LimitKeys: map[string]func(OrderPlaced) string{"order_id": func(p OrderPlaced) string {
				time.Sleep(50 * time.Millisecond)
				return p.OrderID
			}},
		})
		catalogue := runtime.NewCatalogue(placed).WithLimits(declare.Limit{Name: "one", AtOnce: 1})
		var ran Journal[string]
		open := func(target string, handler runtime.Handler[OrderPlaced]) *Fixture {
			f := env.ReopenWith(t, target, catalogue)
			_, err := runtime.Subscribe(f.Bus, placed, "sub", handler, limitedBy("one by order_id"), runtime.WithConcurrency(4), runtime.WithTimeout(time.Hour))
			Must(t, err)
			f.MustStart()
			return f
		}
		f := open(env.Target(t), Hang)
		for n := range 3 {
			_, err := runtime.Publish(t.Context(), f.Bus, placed, OrderPlaced{OrderID: "A", Number: n})
			Must(t, err)
			time.Sleep(time.Second)
		}
		f = open(f.Killed(), func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			ran.Add(fmt.Sprintf("%d.%d", e.Payload.Number, e.Attempt))
			return nil
		})
		f.idleWithin(time.Hour)
		ran.wants(t, "0.2", "1.1", "2.1")
	})
}
