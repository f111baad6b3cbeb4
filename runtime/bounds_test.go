package runtime_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

func TestSettledEventsArePrunedAndOpenOrDeadOnesAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, runtime.WithRetention(time.Hour))
		f.handle("reader", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			if e.Payload.Number == 2 {
				return errBoom
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(2)))
		unsubscribed, err := runtime.Subscribe(f.Bus, paidType, "away", func(context.Context, runtime.Event[orderPaid]) error { return nil })
		must(t, err)
		must(t, unsubscribed.Unsubscribe(t.Context()))
		f.start()
		f.publish(numbers(1, 600)...)
		_, err = runtime.Publish(t.Context(), f.Bus, paidType, orderPaid{})
		must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{Number: 700}, runtime.WithDelay(48*time.Hour))
		must(t, err)
		time.Sleep(59 * time.Minute)
		if n := f.peek().stored(); n != 602 {
			t.Errorf("%d events before the retention is over, want 602", n)
		}
		time.Sleep(5 * time.Minute)
		f.publish(800)
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

func TestNumbersAreNotGivenTwiceWhenEverythingIsPruned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, runtime.WithRetention(time.Minute))
		var seen journal[int]
		handler := func(_ context.Context, e runtime.Event[orderPlaced]) error {
			seen.add(e.Payload.Number)
			return nil
		}
		f.handle("reader", handler)
		f.start()
		f.publish(1, 2, 3)
		time.Sleep(time.Hour)
		f.stop()
		f = reopen(t, f.path)
		f.handle("reader", handler)
		f.publish(4)
		f.start()
		f.idle()
		if got := seen.all(); !slices.Equal(got, numbers(1, 4)) {
			t.Errorf("saw %v, want 1 to 4", got)
		}
	})
}

func TestCompactingGivesSpaceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, runtime.WithRetention(time.Minute))
		f.start()
		batch := make([]orderPlaced, 2000)
		for i := range batch {
			batch[i].OrderID = strings.Repeat("x", 1000)
		}
		_, err := runtime.PublishBatch(t.Context(), f.Bus, placedType, batch)
		must(t, err)
		time.Sleep(time.Hour)
		freed, err := f.Compact(t.Context())
		must(t, err)
		if freed < 1<<20 {
			t.Errorf("%d bytes were freed, want most of two megabytes", freed)
		}
		f.stop()
		info, err := os.Stat(f.path)
		must(t, err)
		if info.Size() > 1<<19 {
			t.Errorf("the file still has %d bytes", info.Size())
		}
	})
}

func TestTooMuchPendingIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, runtime.WithMaxPending(10, runtime.Refuse))
		f.publish(numbers(1, 50)...) // nobody listens, so nothing is pending
		var broken atomic.Bool
		broken.Store(true)
		f.handle("reader", func(context.Context, runtime.Event[orderPlaced]) error {
			if broken.Load() {
				return errBoom
			}
			return nil
		})
		f.publish(numbers(1, 10)...)
		_, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{})
		var pending *runtime.PendingError
		if !errors.As(err, &pending) || pending.Limit != 10 {
			t.Errorf("the eleventh: %v, want PendingError", err)
		}
		f.start()
		synctest.Wait()
		if _, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{}); !errors.As(err, &pending) {
			t.Errorf("while retries wait: %v, want PendingError", err)
		}
		broken.Store(false)
		f.idle()
		f.publish(numbers(1, 10)...)
		f.idle()
		if _, err := runtime.PublishBatch(t.Context(), f.Bus, placedType, make([]orderPlaced, 25)); err != nil {
			t.Errorf("a batch larger than the limit, with nothing pending: %v", err)
		}
	})
}

func TestPublishersCanWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, runtime.WithMaxPending(5, runtime.Block))
		f.handle("slow", func(context.Context, runtime.Event[orderPlaced]) error {
			time.Sleep(time.Second)
			return nil
		})
		f.start()
		began := time.Now()
		f.publish(numbers(1, 20)...)
		if took := time.Since(began); took < 14*time.Second || took > 16*time.Second {
			t.Errorf("publishing twenty took %v, want about as long as handling fifteen", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := runtime.PublishBatch(ctx, f.Bus, placedType, make([]orderPlaced, 5)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a publisher that may not wait so long: %v", err)
		}
		f.idle()
		if n := f.peek().stored(); n != 20 {
			t.Errorf("%d events are stored, want 20", n)
		}
	})
}
