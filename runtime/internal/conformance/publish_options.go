package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

func (env *Env) TestADedupeKeyStoresAnEventOnceWithinItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithDedupeWindow(time.Hour))
		publish := func(number int, key string) (*runtime.Receipt, error) {
			return runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: number}, runtime.WithDedupeKey(key))
		}
		first, err := publish(1, "a")
		Must(t, err)
		again, err := publish(1, "a")
		Must(t, err)
		if first.Duplicate || !again.Duplicate || again.ID != first.ID {
			t.Errorf("the receipts are %+v and %+v", first, again)
		}
		if _, err := again.Wait(t.Context()); err != nil {
			t.Errorf("waiting for a duplicate: %v", err)
		}
		_, err = publish(2, "a")
		var conflict *event.ConflictError
		if !errors.As(err, &conflict) || conflict.First != first.ID || conflict.Key != "a" || conflict.EventType != "order.placed" {
			t.Errorf("another payload with the key: %v", err)
		}
		if other, err := publish(1, "b"); err != nil || other.Duplicate {
			t.Errorf("another key: %+v, %v", other, err)
		}
		if paid, err := runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{}, runtime.WithDedupeKey("a")); err != nil || paid.Duplicate {
			t.Errorf("another type: %+v, %v", paid, err)
		}
		if n := f.peek().stored(); n != 3 {
			t.Errorf("%d events are stored, want 3", n)
		}
		if s := f.Stats().Types[0]; s.Published != 2 {
			t.Errorf("%d are counted as published, want 2", s.Published)
		}
		f.Stop()

		time.Sleep(30 * time.Minute)
		f = env.Reopen(t, f.Path, runtime.WithDedupeWindow(time.Hour))
		if again, err := publish(1, "a"); err != nil || !again.Duplicate {
			t.Errorf("after a restart: %+v, %v", again, err)
		}
		time.Sleep(30 * time.Minute)
		if late, err := publish(2, "a"); err != nil || late.Duplicate {
			t.Errorf("after the window: %+v, %v", late, err)
		}
	})
}

func (env *Env) TestABatchWithADedupeKeyIsStoredOnce(t *testing.T) {
	f := env.Open(t)
	batch := []OrderPlaced{{Number: 1}, {Number: 2}, {Number: 1}}
	for round := range 2 {
		receipts, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, batch, runtime.WithDedupeKey("import"))
		Must(t, err)
		for i, r := range receipts {
			if r.Duplicate != (round == 1) {
				t.Errorf("round %d, event %d: %+v", round, i, r)
			}
		}
	}
	batch[1].Number = 9
	if _, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, batch, runtime.WithDedupeKey("import")); !Is[*event.ConflictError](err) {
		t.Errorf("a batch that differs: %v", err)
	}
	if n := f.peek().stored(); n != 3 {
		t.Errorf("%d events are stored, want 3", n)
	}
}

func (env *Env) TestConcurrentPublishersOfAKeyStoreOneEventAndOthersAreNotDisturbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var mu sync.Mutex
		first, ids := 0, map[uuid.UUID]bool{}
		var running sync.WaitGroup
		for range 16 {
			running.Go(func() {
				r, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 1}, runtime.WithDedupeKey("k"))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				ids[r.ID] = true
				if !r.Duplicate {
					first++
				}
			})
			running.Go(func() {
				if _, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 3}); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		for range 8 {
			running.Go(func() {
				_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 2}, runtime.WithDedupeKey("k"))
				if !Is[*event.ConflictError](err) {
					t.Errorf("a conflict became %v", err)
				}
			})
			running.Go(func() {
				if _, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 3}); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		if first != 1 || len(ids) != 1 {
			t.Errorf("%d first ones with %d ids, want one", first, len(ids))
		}
		if n := f.peek().stored(); n != 25 {
			t.Errorf("%d events are stored, want 25", n)
		}
	})
}

func (env *Env) TestABadDedupeKeyIsRefused(t *testing.T) {
	f := env.Open(t)
	for _, key := range []string{"", "\xff", strings.Repeat("x", 201)} {
		if _, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{}, runtime.WithDedupeKey(key)); err == nil || !strings.Contains(err.Error(), "WithDedupeKey") {
			t.Errorf("key %.10q: %v", key, err)
		}
	}
}

func (env *Env) TestADelayedEventIsDeliveredWhenItIsDueAndNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		began := time.Now()
		var seen Journal[string]
		handler := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(fmt.Sprintf("%d after %v", e.Payload.Number, time.Since(began).Round(time.Second)))
			return nil
		}
		f.Handle("reader", handler)
		f.MustStart()
		publish := func(number int, opts ...runtime.PublishOption) {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: number}, opts...)
			Must(t, err)
		}
		publish(1, runtime.WithDelay(10*time.Second))
		publish(2)
		publish(3, runtime.WithPublishAt(began.Add(5*time.Second)))
		publish(4, runtime.WithDelay(-time.Second))
		publish(5, runtime.WithPublishAt(began.Add(-time.Second)))
		publish(6, runtime.WithDelay(time.Hour))
		time.Sleep(20 * time.Second)
		if got := strings.Join(f.peek().statuses(), ","); got != "done,done,done,done,done,pending" {
			t.Errorf("the events are %s", got)
		}
		f.Handle("latecomer", func(context.Context, runtime.Event[OrderPlaced]) error {
			t.Error("a subscription got an event that was published before it")
			return nil
		})
		var fromBeginning Journal[int]
		f.Handle("from the beginning", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			fromBeginning.Add(e.Payload.Number)
			if e.Payload.Number == 6 && time.Since(began) < time.Hour {
				t.Error("a delayed event was delivered too early")
			}
			return nil
		}, runtime.FromBeginning())
		f.Stop()

		f = env.Reopen(t, f.Path)
		f.Handle("reader", handler)
		f.Handle("from the beginning", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			fromBeginning.Add(e.Payload.Number)
			return nil
		})
		f.MustStart()
		f.Idle()
		want := []string{"2 after 0s", "4 after 0s", "5 after 0s", "3 after 5s", "1 after 10s", "6 after 1h0m0s"}
		if got := seen.All(); !slices.Equal(got, want) {
			t.Errorf("saw %v, want %v", got, want)
		}
		got := fromBeginning.All()
		slices.Sort(got)
		if !slices.Equal(got, Numbers(1, 6)) {
			t.Errorf("from the beginning: %v", got)
		}
	})
}

func (env *Env) TestACorrelationIDIsPassedOnToWhatAHandlerPublishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ids Journal[string]
		f.Handle("parent", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			ids.Add(e.CorrelationID)
			_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{})
			if err != nil {
				return err
			}
			_, err = runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{}, runtime.WithCorrelationID("other"))
			return err
		})
		_, err := runtime.Subscribe(f.Bus, PaidType, "child", func(_ context.Context, e runtime.Event[OrderPaid]) error {
			ids.Add(e.CorrelationID)
			return nil
		})
		Must(t, err)
		f.MustStart()
		_, err = runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{}, runtime.WithCorrelationID("c1"))
		Must(t, err)
		f.Idle()
		root := f.Publish(1)[0].ID.String()
		f.Idle()
		if got, want := ids.All(), []string{"c1", "c1", "other", "", root, "other"}; !slices.Equal(got, want) {
			t.Errorf("the correlation ids are %q, want %q", got, want)
		}
	})
}
