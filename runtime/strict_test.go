package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

func TestAStrictOrderWaitsForTheRetryOfItsKeyOnly(t *testing.T) {
	for name, opts := range map[string][]runtime.SubscribeOption{
		"one worker":   {runtime.WithStrictOrder()},
		"four workers": {runtime.WithStrictOrder(), runtime.WithConcurrency(4)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t)
				var a, b journal[string]
				f.handle("strict", func(_ context.Context, e runtime.Event[orderPlaced]) error {
					seen := &a
					if e.Payload.OrderID == "B" {
						seen = &b
						if len(a.all()) > 4 {
							t.Error("key B waited for key A")
						}
					}
					seen.add(fmt.Sprintf("%d.%d", e.Payload.Number, e.Attempt))
					if e.Payload.OrderID == "A" && e.Payload.Number == 1 && e.Attempt < 3 || e.Payload.Number == 3 {
						return errBoom
					}
					return nil
				}, append(opts, runtime.WithRetry(retry.MaxAttempts(3)))...)
				f.start()
				for n := 1; n <= 4; n++ {
					f.publish(n)
					_, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{OrderID: "B", Number: 10 * n})
					must(t, err)
				}
				f.idle()
				if got, want := a.all(), []string{"1.1", "1.2", "1.3", "2.1", "3.1", "3.2", "3.3", "4.1"}; !slices.Equal(got, want) {
					t.Errorf("key A saw %v, want %v", got, want)
				}
				if got, want := b.all(), []string{"10.1", "20.1", "30.1", "40.1"}; !slices.Equal(got, want) {
					t.Errorf("key B saw %v, want %v", got, want)
				}
			})
		})
	}
}

func TestAStrictOrderSurvivesARestartAndAFullWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var healthy atomic.Bool
		var seen journal[int]
		subscribe := func() {
			f.handle("strict", func(_ context.Context, e runtime.Event[orderPlaced]) error {
				if e.Payload.Number == 1 && !healthy.Load() {
					return errBoom
				}
				seen.add(e.Payload.Number)
				return nil
			}, runtime.WithStrictOrder(), runtime.WithRetry(retry.MaxAttempts(10), retry.MaxDelay(time.Minute), retry.BaseDelay(time.Minute)))
		}
		subscribe()
		f.start()
		f.publish(numbers(1, 700)...)
		time.Sleep(30 * time.Second)
		f.stop()
		f = reopen(t, f.path)
		subscribe()
		f.start()
		time.Sleep(5 * time.Minute)
		if got := seen.all(); len(got) > 0 {
			t.Errorf("%v were handled while the first one fails", got)
		}
		healthy.Store(true)
		f.idle()
		if got := seen.all(); !slices.Equal(got, numbers(1, 700)) {
			t.Errorf("saw %d events, the first %v", len(got), got[:min(5, len(got))])
		}
	})
}
