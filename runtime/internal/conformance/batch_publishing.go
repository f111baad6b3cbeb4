package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
)

func (env *Env) TestWhatABatchPublishesIsStoredWithItsSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Batches("export", func(ctx context.Context, events []runtime.Event[OrderPlaced]) error {
			publish := func(ctx context.Context, what string) {
				_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: what})
				Must(t, err)
			}
			publish(ctx, "all of "+numbersAndAttempts(events))
			var failed runtime.BatchError
			for i, e := range events {
				publish(runtime.ItemContext(context.WithValue(ctx, CatalogueKey{}, 1), i), fmt.Sprint("one of ", e.Payload.Number))
				if e.Payload.Number == 2 && e.Attempt == 1 {
					failed.Set(i, ErrBoom)
				}
			}
			return failed.Err()
		}, runtime.WithBatch(3, time.Second))
		var seen Journal[string]
		_, err := runtime.Subscribe(f.Bus, PaidType, "paid", func(_ context.Context, e runtime.Event[OrderPaid]) error {
			seen.Add(fmt.Sprintf("%s by %s, %d hops", e.Payload.OrderID, e.PublishedBy, e.Hops))
			return nil
		})
		Must(t, err)
		f.MustStart()
		receipts := f.Publish(1, 2, 3)
		f.Idle()
		want := []string{"one of 1 by export, 1 hops", "one of 3 by export, 1 hops", "one of 2 by export, 1 hops", "all of 2.2 by export, 1 hops"}
		if got := seen.All(); !slices.Equal(got, want) {
			t.Errorf("the events published are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		f.Publish(4, 5, 6)
		f.Idle()
		if got := seen.All()[4:]; len(got) != 4 || !slices.Contains(got, "all of 4.1 5.1 6.1 by export, 1 hops") {
			t.Errorf("a batch that succeeds has published %v", got)
		}
		if receipts[0].ID == receipts[1].ID {
			t.Error("two events have one id")
		}
	})
}

// CatalogueKey is a key of a context.
type CatalogueKey struct{}

func (env *Env) TestABatchHandlerThatPublishesInACircleReachesTheLimitOfHops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithHopLimit(5))
		var refused atomic.Int32
		f.Batches("circle", func(ctx context.Context, events []runtime.Event[OrderPlaced]) error {
			_, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{})
			if err != nil {
				refused.Add(1)
			}
			return err
		}, runtime.WithBatch(10, time.Second))
		f.MustStart()
		f.Publish(1)
		for range 20 { // other roots, so that the circle meets events without hops
			time.Sleep(700 * time.Millisecond)
			f.Publish(2)
		}
		f.Idle()
		if refused.Load() == 0 {
			t.Error("nothing was refused")
		}
	})
}

func (env *Env) TestABatchHandlerCannotWaitForEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var errs Journal[error]
		f.Batches("waiter", func(ctx context.Context, events []runtime.Event[OrderPlaced]) error {
			for _, one := range []context.Context{ctx, runtime.ItemContext(ctx, 0)} {
				r, err := runtime.Publish(one, f.Bus, PaidType, OrderPaid{}, runtime.Immediately())
				Must(t, err)
				_, err = r.Wait(one)
				errs.Add(err)
				_, err = runtime.Request[int](one, f.Bus, PaidType, OrderPaid{})
				errs.Add(err)
			}
			return nil
		}, runtime.WithBatch(3, 0))
		_, err := runtime.SubscribeAnswer(f.Bus, PaidType, "answers", func(context.Context, runtime.Event[OrderPaid]) (int, error) { return 1, nil })
		Must(t, err)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		got := errs.All()
		if len(got) != 4 || slices.ContainsFunc(got, func(err error) bool { return !errors.Is(err, runtime.ErrBatchWait) }) {
			t.Errorf("waiting has returned %v", got)
		}
	})
}
