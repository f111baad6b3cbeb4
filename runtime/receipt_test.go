package runtime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
)

func TestAReceiptWaitsForEverySubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("quick", func(context.Context, runtime.Event[orderPlaced]) error { return nil })
		f.handle("second try", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			if e.Attempt == 1 {
				return errBoom
			}
			return nil
		})
		f.handle("slow", func(context.Context, runtime.Event[orderPlaced]) error {
			time.Sleep(5 * time.Second)
			return nil
		})
		f.start()
		began := time.Now()
		receipts := f.publish(1, 2)
		outcome, err := receipts[0].Wait(t.Context())
		must(t, err)
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

func TestAReceiptNobodyListensToIsSettledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		receipt := f.publish(1)[0]
		f.handle("newcomer", func(context.Context, runtime.Event[orderPlaced]) error { return nil })
		outcome, err := receipt.Wait(t.Context())
		if err != nil || len(outcome.Deliveries) != 0 {
			t.Errorf("got %+v, %v", outcome, err)
		}
	})
}

func TestWaitingEndsWithItsContextAndWithTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("asleep", func(ctx context.Context, _ runtime.Event[orderPlaced]) error {
			time.Sleep(time.Hour)
			return nil
		}, runtime.WithTimeout(2*time.Hour))
		receipt := f.publish(1)[0] // not started: nothing settles it
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
		f.stop()
		if err := <-result; !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("the receipt returned %v when the bus was shut down", err)
		}
	})
}

func TestWaitIdleWaitsForRetriesAndForChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		paid := 0
		f.handle("parent", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			if e.Attempt < 3 {
				return errBoom
			}
			_, err := runtime.Publish(ctx, f.Bus, paidType, orderPaid{})
			return err
		})
		_, err := runtime.Subscribe(f.Bus, paidType, "child", func(context.Context, runtime.Event[orderPaid]) error {
			time.Sleep(time.Second)
			paid++
			return nil
		})
		must(t, err)
		f.start()
		f.publish(1)
		f.idle()
		if paid != 1 {
			t.Errorf("the child was handled %d times before the bus was idle, want 1", paid)
		}
	})
}
