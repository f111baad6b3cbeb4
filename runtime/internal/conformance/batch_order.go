package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
)

func (env *Env) TestEventsOfABatchAreInTheOrderOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var batches Journal[string]
		f.Batches("default", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			batches.Add(numbersAndAttempts(events))
			return nil
		})
		f.Publish(Numbers(1, 250)...)
		f.MustStart()
		f.Idle()
		var want []string
		for _, part := range [][]int{Numbers(1, 100), Numbers(101, 200), Numbers(201, 250)} {
			var one []string
			for _, n := range part {
				one = append(one, fmt.Sprintf("%d.1", n))
			}
			want = append(want, strings.Join(one, " "))
		}
		f.sawBatches(batches.All(), want...)
	})
}

func (env *Env) TestEventsOfOneKeyAreInOneBatchOrInOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		const keys = 4
		var running [keys]atomic.Int32
		var seen [keys]Journal[int]
		var most, together atomic.Int32
		var batches atomic.Int32
		f.Batches("keyed", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			batches.Add(1)
			together.Add(1)
			defer together.Add(-1)
			if n := together.Load(); n > most.Load() {
				most.Store(n)
			}
			mine := map[int]bool{}
			for _, e := range events {
				key := e.Payload.Number % keys
				if mine[key] = true; len(mine) == 1 && running[key].Load() > 1 {
					t.Error("a key runs twice")
				}
				seen[key].Add(e.Payload.Number)
			}
			for key := range mine {
				if running[key].Add(1) > 1 {
					t.Errorf("two batches have key %d", key)
				}
			}
			time.Sleep(time.Duration(1+events[0].Payload.Number%3) * time.Second)
			for key := range mine {
				running[key].Add(-1)
			}
			return nil
		}, runtime.WithBatch(3, 100*time.Millisecond), runtime.WithConcurrency(3))
		f.MustStart()
		for n := range 200 {
			f.published(OrderPlaced{OrderID: fmt.Sprint(n % keys), Number: n})
			if n%50 == 49 {
				time.Sleep(2 * time.Second)
			}
		}
		f.Idle()
		for key := range seen {
			if got := seen[key].All(); len(got) != 50 || !slices.IsSorted(got) {
				t.Errorf("key %d saw %v", key, got)
			}
		}
		if most.Load() < 2 || batches.Load() > 150 {
			t.Errorf("%d batches ran at once, and there were %d of 200 events", most.Load(), batches.Load())
		}
	})
}

func (env *Env) TestWithAStrictOrderABatchHasOneEventOfEachKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var batches Journal[string]
		f.Batches("strict", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			batches.Add(numbersAndAttempts(events))
			for i, e := range events {
				if e.Payload.Number == 10 && e.Attempt < 3 {
					return &runtime.BatchError{Items: map[int]error{i: ErrBoom}}
				}
			}
			return nil
		}, runtime.WithBatch(10, 100*time.Millisecond), runtime.WithStrictOrder())
		for n := range 3 {
			f.published(OrderPlaced{OrderID: "A", Number: 10 + n})
			f.published(OrderPlaced{OrderID: "B", Number: 20 + n})
		}
		f.MustStart()
		f.Idle()
		f.sawBatches(batches.All(), "10.1 20.1", "21.1", "22.1", "10.2", "10.3", "11.1", "12.1")
	})
}

// The next event of a key cannot join the batch that has the key: to wait for more would only delay it.
func (env *Env) TestABatchWhoseKeysHaveMoreEventsDoesNotWaitInAStrictOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		const wait = time.Minute
		var batches Journal[string]
		var began time.Time
		f.Batches("strict", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			after := time.Since(began).Truncate(time.Second)
			batches.Add(fmt.Sprint(numbersAndAttempts(events), " after ", after))
			return nil
		}, runtime.WithBatch(10, wait), runtime.WithStrictOrder())
		f.Publish(Numbers(1, 5)...) // all of one key
		began = time.Now()
		f.MustStart()
		f.Idle()
		f.sawBatches(batches.All(), "1.1 after 0s", "2.1 after 0s", "3.1 after 0s", "4.1 after 0s", "5.1 after 1m0s")
	})
}

// A handler of an ordinary subscription that waits for an event need not wait until a batch
// is full.
func (env *Env) TestAnEventThatAHandlerWaitsForBeginsItsBatchAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Batches("batches", func(context.Context, []runtime.Event[OrderPlaced]) error { return nil }, runtime.WithBatch(10, time.Minute))
		var took atomic.Int64
		_, err := runtime.Subscribe(f.Bus, PaidType, "waits", func(ctx context.Context, e runtime.Event[OrderPaid]) error {
			start := time.Now()
			r, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{}, runtime.Immediately())
			if err == nil {
				_, err = r.Wait(ctx)
			}
			took.Store(int64(time.Since(start)))
			return err
		})
		Must(t, err)
		f.MustStart()
		_, err = runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{})
		Must(t, err)
		f.Idle()
		if took := time.Duration(took.Load()); took > time.Second {
			t.Errorf("the handler has waited for %v", took)
		}
	})
}
