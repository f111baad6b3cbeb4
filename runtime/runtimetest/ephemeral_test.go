package runtimetest_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/runtimetest"
)

func TestAnEphemeralHandlerRunsInAKitAndIsMadeAgainBySetup(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var live, once handled
		fails := true
		k.Setup(func(bus *runtime.Bus) error {
			_, err := runtime.Subscribe(bus, placedType, "live", live.handle, runtime.Ephemeral())
			return err
		})
		_, err := runtime.Subscribe(k.Bus, placedType, "once", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			if fails {
				fails = false
				return errBoom
			}
			return once.handle(ctx, e)
		}, runtime.Ephemeral())
		if err != nil {
			t.Fatal(err)
		}
		place(t, k, 1)
		synctest.Wait() // the bus is not started
		if got := live.numbers(); !slices.Equal(got, []int{1}) {
			t.Errorf("before the start: %v", got)
		}
		k.Drain()
		if got := once.numbers(); len(got) != 0 {
			t.Errorf("Drain has waited for the retry: %v", got)
		}
		k.Advance(time.Second)
		if got := once.numbers(); !slices.Equal(got, []int{1}) {
			t.Errorf("after the delay of the retry: %v", got)
		}
		k.Restart()
		place(t, k, 2)
		k.Drain()
		if got := live.numbers(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("after a restart: %v", got)
		}
		if got := once.numbers(); !slices.Equal(got, []int{1}) {
			t.Errorf("one that Setup has not made lives on: %v", got)
		}
	})
}

func TestAFaultStandsOutsideOfTheMiddleware(t *testing.T) {
	var calls int
	counting := func(next runtime.Next) runtime.Next {
		return func(ctx context.Context, e runtime.Event[any]) error {
			calls++
			return next(ctx, e)
		}
	}
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var seen handled
		subscribe(k, "ship", seen.handle)
		k.Break("ship", 1, runtimetest.Fails(errBoom))
		k.Break("ship", 1, runtimetest.FailsAfter(errBoom))
		place(t, k, 1)
		k.Drain()
		if attempts := k.Attempts("ship"); len(attempts) != 3 || calls != 2 || !slices.Equal(seen.attempts(), []int{2, 3}) {
			t.Errorf("%d attempts, %d of them through the middleware, and the handler saw %v", len(attempts), calls, seen.attempts())
		}
	}, runtime.WithMiddleware(counting))
}
