package conformance

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

func (env *Env) TestAStrictOrderWaitsForTheRetryOfItsKeyOnly(t *testing.T) {
	for name, opts := range map[string][]runtime.SubscribeOption{
		"one worker":   {runtime.WithStrictOrder()},
		"four workers": {runtime.WithStrictOrder(), runtime.WithConcurrency(4)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var a, b Journal[string]
				f.Handle("strict", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					seen := &a
					if e.Payload.OrderID == "B" {
						seen = &b
						if len(a.All()) > 4 {
							t.Error("key B waited for key A")
						}
					}
					seen.Add(fmt.Sprintf("%d.%d", e.Payload.Number, e.Attempt))
					if e.Payload.OrderID == "A" && e.Payload.Number == 1 && e.Attempt < 3 || e.Payload.Number == 3 {
						return ErrBoom
					}
					return nil
				}, append(opts, runtime.WithRetry(retry.MaxAttempts(3)))...)
				f.MustStart()
				for n := 1; n <= 4; n++ {
					f.Publish(n)
					_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "B", Number: 10 * n})
					Must(t, err)
				}
				f.Idle()
				if got, want := a.All(), []string{"1.1", "1.2", "1.3", "2.1", "3.1", "3.2", "3.3", "4.1"}; !slices.Equal(got, want) {
					t.Errorf("key A saw %v, want %v", got, want)
				}
				if got, want := b.All(), []string{"10.1", "20.1", "30.1", "40.1"}; !slices.Equal(got, want) {
					t.Errorf("key B saw %v, want %v", got, want)
				}
			})
		})
	}
}

func (env *Env) TestAStrictOrderSurvivesARestartAndAFullWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var healthy atomic.Bool
		var seen Journal[int]
		subscribe := func() {
			f.Handle("strict", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				if e.Payload.Number == 1 && !healthy.Load() {
					return ErrBoom
				}
				seen.Add(e.Payload.Number)
				return nil
			}, runtime.WithStrictOrder(), runtime.WithRetry(retry.MaxAttempts(10), retry.MaxDelay(time.Minute), retry.BaseDelay(time.Minute)))
		}
		subscribe()
		f.MustStart()
		f.Publish(Numbers(1, 700)...)
		time.Sleep(30 * time.Second)
		f.Stop()
		f = env.Reopen(t, f.Path)
		subscribe()
		f.MustStart()
		time.Sleep(5 * time.Minute)
		if got := seen.All(); len(got) > 0 {
			t.Errorf("%v were handled while the first one fails", got)
		}
		healthy.Store(true)
		f.Idle()
		if got := seen.All(); !slices.Equal(got, Numbers(1, 700)) {
			t.Errorf("saw %d events, the first %v", len(got), got[:min(5, len(got))])
		}
	})
}
