package conformance

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestSettledEventsArePrunedAndOpenOrDeadOnesAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithRetention(time.Hour))
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 2 {
				return ErrBoom
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(2)))
		unsubscribed, err := runtime.Subscribe(f.Bus, PaidType, "away", func(context.Context, runtime.Event[OrderPaid]) error { return nil })
		Must(t, err)
		Must(t, unsubscribed.Unsubscribe(t.Context()))
		f.MustStart()
		f.Publish(Numbers(1, 600)...)
		_, err = runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{})
		Must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 700}, runtime.WithDelay(48*time.Hour))
		Must(t, err)
		time.Sleep(59 * time.Minute)
		if n := f.peek().stored(); n != 602 {
			t.Errorf("%d events before the retention is over, want 602", n)
		}
		time.Sleep(5 * time.Minute)
		f.Publish(800)
		time.Sleep(time.Minute)
		var left []string
		for _, e := range f.peek().events() {
			left = append(left, e.Type+" "+e.Status)
		}
		if !slices.Contains(left, "order.placed dlq") || !slices.Contains(left, "order.paid pending") || len(left) != 4 {
			t.Errorf("what is left is %q, want the dead, the open, the delayed and the new one", left)
		}
		if n := len(f.peek().failures()); n != 2 {
			t.Errorf("%d attempts are left, want those of the dead letter", n)
		}
	})
}

func (env *Env) TestNumbersAreNotReusedWhenEverythingIsPruned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithRetention(time.Minute))
		var seen Journal[int]
		handler := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Payload.Number)
			return nil
		}
		f.Handle("reader", handler)
		f.MustStart()
		f.Publish(1, 2, 3)
		time.Sleep(time.Hour)
		f.Stop()
		f = env.Reopen(t, f.Path)
		f.Handle("reader", handler)
		f.Publish(4)
		f.MustStart()
		f.Idle()
		if got := seen.All(); !slices.Equal(got, Numbers(1, 4)) {
			t.Errorf("saw %v, want 1 to 4", got)
		}
	})
}

func (env *Env) TestTooMuchPendingIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithMaxPending(10, runtime.Refuse))
		f.Publish(Numbers(1, 50)...) // nobody listens, so nothing is pending
		var broken atomic.Bool
		broken.Store(true)
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error {
			if broken.Load() {
				return ErrBoom
			}
			return nil
		})
		f.Publish(Numbers(1, 10)...)
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{})
		var pending *runtime.PendingError
		if !errors.As(err, &pending) || pending.Limit != 10 {
			t.Errorf("the eleventh: %v, want PendingError", err)
		}
		f.MustStart()
		synctest.Wait()
		if _, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{}); !errors.As(err, &pending) {
			t.Errorf("while retries wait: %v, want PendingError", err)
		}
		broken.Store(false)
		f.Idle()
		f.Publish(Numbers(1, 10)...)
		f.Idle()
		if _, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, make([]OrderPlaced, 25)); err != nil {
			t.Errorf("a batch larger than the limit, with nothing pending: %v", err)
		}
	})
}

func (env *Env) TestPublishersCanWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithMaxPending(5, runtime.Block))
		f.Handle("slow", func(context.Context, runtime.Event[OrderPlaced]) error {
			time.Sleep(time.Second)
			return nil
		})
		f.MustStart()
		began := time.Now()
		f.Publish(Numbers(1, 20)...)
		if took := time.Since(began); took < 14*time.Second || took > 16*time.Second {
			t.Errorf("publishing twenty took %v, want about as long as handling fifteen", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := runtime.PublishBatch(ctx, f.Bus, PlacedType, make([]OrderPlaced, 5)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a publisher that may not wait so long: %v", err)
		}
		f.Idle()
		if n := f.peek().stored(); n != 20 {
			t.Errorf("%d events are stored, want 20", n)
		}
	})
}
