package conformance

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
)

func (env *Env) TestAReceiptWaitsForEverySubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("quick", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		f.Handle("second try", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Attempt == 1 {
				return ErrBoom
			}
			return nil
		})
		f.Handle("slow", func(context.Context, runtime.Event[OrderPlaced]) error {
			time.Sleep(5 * time.Second)
			return nil
		})
		f.MustStart()
		began := time.Now()
		receipts := f.Publish(1, 2)
		outcome, err := receipts[0].Wait(t.Context())
		Must(t, err)
		if took := time.Since(began).Round(time.Second / 10); took != 5*time.Second {
			t.Errorf("waited %v, want 5s", took)
		}
		if err := outcome.Err(); err != nil {
			t.Errorf("the outcome is %v", err)
		}
		want := []runtime.DeliveryOutcome{{Subscription: "quick"}, {Subscription: "second try", Failures: 1, LastError: "boom"}, {Subscription: "slow"}}
		for i, d := range outcome.Deliveries {
			if d != want[i] {
				t.Errorf("delivery %d is %+v, want %+v", i, d, want[i])
			}
		}
		if _, err := receipts[0].Wait(t.Context()); err != nil {
			t.Errorf("waiting again: %v", err)
		}
		if len(outcome.Deliveries) != 3 {
			t.Errorf("%d deliveries, want 3", len(outcome.Deliveries))
		}
	})
}

func (env *Env) TestAReceiptOfAnEventWithoutSubscriptionsIsSettledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		receipt := f.Publish(1)[0]
		f.Handle("newcomer", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		outcome, err := receipt.Wait(t.Context())
		if err != nil || len(outcome.Deliveries) != 0 {
			t.Errorf("got %+v, %v", outcome, err)
		}
	})
}

func (env *Env) TestWaitingEndsWithItsContextAndWithTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("asleep", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			time.Sleep(time.Hour)
			return nil
		}, runtime.WithTimeout(2*time.Hour))
		receipt := f.Publish(1)[0] // not started: nothing settles it
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := receipt.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the receipt returned %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.WaitIdle(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitIdle returned %v", err)
		}
		result := make(chan error)
		go func() {
			_, err := receipt.Wait(t.Context())
			result <- err
		}()
		synctest.Wait()
		f.Stop()
		if err := <-result; !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("the receipt returned %v when the bus was shut down", err)
		}
	})
}

func (env *Env) TestWaitIdleWaitsForRetriesAndForChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		paid := 0
		f.Handle("parent", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Attempt < 3 {
				return ErrBoom
			}
			_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{})
			return err
		})
		_, err := runtime.Subscribe(f.Bus, PaidType, "child", func(context.Context, runtime.Event[OrderPaid]) error {
			time.Sleep(time.Second)
			paid++
			return nil
		})
		Must(t, err)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if paid != 1 {
			t.Errorf("the child was handled %d times before the bus was idle, want 1", paid)
		}
	})
}
