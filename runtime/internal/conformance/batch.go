package conformance

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/retry"
)

// Batches subscribes to order.placed with batches.
func (f *Fixture) Batches(name string, handler runtime.BatchHandler[OrderPlaced], opts ...runtime.SubscribeOption) *runtime.Subscription {
	f.T.Helper()
	s, err := runtime.SubscribeBatch(f.Bus, PlacedType, name, handler, opts...)
	Must(f.T, err)
	return s
}

// numbersAndAttempts writes a batch as 3.1 for the first attempt at number 3.
func numbersAndAttempts(events []runtime.Event[OrderPlaced]) string {
	var all []string
	for _, e := range events {
		all = append(all, fmt.Sprintf("%d.%d", e.Payload.Number, e.Attempt))
	}
	return strings.Join(all, " ")
}

func (f *Fixture) published(event OrderPlaced) *runtime.Receipt {
	f.T.Helper()
	r, err := runtime.Publish(f.T.Context(), f.Bus, PlacedType, event)
	Must(f.T, err)
	return r
}

func (f *Fixture) sawBatches(got []string, want ...string) {
	f.T.Helper()
	if !slices.Equal(got, want) {
		f.T.Errorf("the batches are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (env *Env) TestOfABatchOnlyTheItemsThatFailAreRetriedEachWithItsOwnAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Journal[runtime.BatchInfo]
		f := env.Open(t, runtime.WithObserver(runtime.Observer{Batch: told.Add}))
		var batches Journal[string]
		var done atomic.Int32
		s := f.Batches("export", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			batches.Add(numbersAndAttempts(events))
			var failed runtime.BatchError
			for i, e := range events {
				var err error
				switch n := e.Payload.Number; {
				case n == 3: // until it is dead
					err = ErrBoom
				case n == 7 && e.Attempt < 3, n == 20 && e.Attempt < 2:
					err = runtime.RetryAfter(time.Duration(n)*time.Second, ErrBoom)
				default:
					done.Add(1)
				}
				failed.Set(i, err)
			}
			if err := failed.Err(); err != nil {
				return fmt.Errorf("export: %w", err)
			}
			return nil
		}, runtime.WithBatch(25, time.Minute))
		f.MustStart()
		f.Publish(Numbers(1, 25)...)
		synctest.Wait()
		if done.Load() != 22 {
			t.Errorf("%d items are done at once, want 22", done.Load())
		}
		stats := f.Stats().Subscriptions[0]
		if stats.Handled != 22 || stats.Failed != 3 || stats.Retried != 3 || *stats.Batches != (runtime.BatchStats{Batches: 1, Events: 25}) {
			t.Errorf("the counts are %+v %+v", stats.Counts, stats.Batches)
		}
		f.Idle()
		var first []string
		for _, n := range Numbers(1, 25) {
			first = append(first, fmt.Sprintf("%d.1", n))
		}
		// What is due meanwhile joins the batch that waits for more. A last attempt is alone.
		f.sawBatches(batches.All(), strings.Join(first, " "), "3.2 7.2 20.2", "3.3 7.3", "3.4")
		info := told.All()[0]
		if info.Size != 25 || info.Done != 22 || info.Failed != 3 || info.Subscription != s.Name() || info.TimedOut {
			t.Errorf("the observer was told %+v", info)
		}
		if l := env.Letter(t, f.Path); l.Reason != "max_attempts" || len(l.Attempts) != 4 || l.Attempts[0].Error != "boom" {
			t.Errorf("the dead letter is %+v", l)
		}
	})
}

func (env *Env) TestABatchIsCutShortByItsWait(t *testing.T) {
	for name, preset := range map[string]struct {
		size        int
		wait        time.Duration
		concurrency int
	}{
		"domain events":   {25, 2 * time.Second, 5},
		"critical events": {10, 500 * time.Millisecond, 2},
		"low latency":     {5, 100 * time.Millisecond, 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				type batch struct {
					at time.Duration
					n  int
				}
				var batches Journal[batch]
				start := time.Now()
				f.Batches("batches", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
					batches.Add(batch{time.Since(start), len(events)})
					return nil
				}, runtime.WithBatch(preset.size, preset.wait), runtime.WithConcurrency(preset.concurrency))
				f.MustStart()
				f.Publish(Numbers(1, preset.size)...) // full: at once
				synctest.Wait()
				f.Publish(1)
				time.Sleep(preset.wait / 2)
				f.Publish(2) // does not prolong the wait
				time.Sleep(preset.wait/2 - 1)
				if got := batches.All(); !slices.Equal(got, []batch{{0, preset.size}}) {
					t.Errorf("before the wait is over the batches are %v", got)
				}
				time.Sleep(1)
				synctest.Wait()
				if got := batches.All(); !slices.Equal(got, []batch{{0, preset.size}, {preset.wait, 2}}) {
					t.Errorf("after the wait the batches are %v", got)
				}
			})
		})
	}
}

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

func (env *Env) TestAnErrorThatNamesNoItemFailsAllOfABatch(t *testing.T) {
	var missing *runtime.BatchError
	for name, test := range map[string]struct {
		fail func() error
		kind string
		text string
	}{
		"an error":                 {func() error { return ErrBoom }, "error", "boom"},
		"a panic":                  {func() error { panic("oh") }, "panic", "panic: oh"},
		"a goexit":                 {func() error { goruntime.Goexit(); return nil }, "goexit", "Goexit"},
		"a typed nil":              {func() error { return missing }, "error", "nil pointer of type *dispatch.BatchError"},
		"an index that is not one": {func() error { return &runtime.BatchError{Items: map[int]error{0: ErrBoom, 3: ErrBoom}} }, "error", "names item 3 of a batch of 3 events, whose items are 0 to 2"},
		"a negative index":         {func() error { return &runtime.BatchError{Items: map[int]error{-1: ErrBoom}} }, "error", "names item -1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var batches Journal[string]
				f.Batches("fragile", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
					batches.Add(numbersAndAttempts(events))
					if events[0].Attempt == 1 {
						return test.fail()
					}
					return nil
				}, runtime.WithBatch(3, time.Second))
				f.MustStart()
				f.Publish(1, 2, 3)
				f.Idle()
				f.sawBatches(batches.All(), "1.1 2.1 3.1", "1.2 2.2 3.2")
				lines := f.Log.Level(t, "WARN")
				if len(lines) != 3 || !strings.Contains(fmt.Sprint(lines[0]["error"]), test.text) {
					t.Errorf("the log has %v, want three lines with %q", lines, test.text)
				}
				stats := f.Stats().Subscriptions[0]
				if stats.Handled != 3 || stats.Failed != 3 || stats.Recovered != 3 {
					t.Errorf("the counts are %+v", stats.Counts)
				}
			})
		})
	}
}

func (env *Env) TestABatchErrorThatNamesNothingMeansThatAllIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Batches("fine", func(context.Context, []runtime.Event[OrderPlaced]) error {
			return &runtime.BatchError{Items: map[int]error{0: nil}}
		}, runtime.WithBatch(3, time.Second))
		f.MustStart()
		f.Publish(1, 2, 3)
		f.Idle()
		if stats := f.Stats().Subscriptions[0]; stats.Handled != 3 || stats.Failed != 0 {
			t.Errorf("the counts are %+v", stats.Counts)
		}
	})
}

func (env *Env) TestSteeringWorksForEachItemOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var batches Journal[string]
		f.Batches("steered", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			batches.Add(numbersAndAttempts(events))
			var failed runtime.BatchError
			for i, e := range events {
				switch {
				case e.Attempt > 1:
				case e.Payload.Number == 1:
					failed.Set(i, runtime.Permanent(ErrBoom))
				case e.Payload.Number == 2:
					failed.Set(i, runtime.Discard("not for us"))
				case e.Payload.Number == 3:
					failed.Set(i, runtime.Snooze(time.Hour))
				case e.Payload.Number == 4:
					failed.Set(i, runtime.RetryAfter(time.Minute, ErrBoom))
				}
			}
			return failed.Err()
		}, runtime.WithBatch(5, time.Second))
		f.MustStart()
		f.Publish(Numbers(1, 5)...)
		f.Idle()
		f.sawBatches(batches.All(), "1.1 2.1 3.1 4.1 5.1", "4.2", "3.2")
		c := f.Stats().Subscriptions[0].Counts
		if c.Handled != 3 || c.Failed != 2 || c.Retried != 1 || c.Dead != 1 || c.Discarded != 1 || c.Snoozed != 1 {
			t.Errorf("the counts are %+v", c)
		}
		if l := env.Letter(t, f.Path); l.Reason != "permanent" {
			t.Errorf("the dead letter is %+v", l)
		}
	})
}

func (env *Env) TestAnItemOfABatchThatCannotBeDecodedIsDeadAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var batches Journal[string]
		f.Batches("export", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			batches.Add(numbersAndAttempts(events))
			if events[1].Attempt == 1 {
				return &runtime.BatchError{Items: map[int]error{1: ErrBoom}}
			}
			return nil
		}, runtime.WithBatch(3, time.Second))
		f.Publish(1)
		f.PublishRaw(PlacedType, `{"number":"two"}`)
		f.Publish(3)
		f.MustStart()
		synctest.Wait()
		f.sawBatches(batches.All(), "1.1 3.1")
		if l := env.Letter(t, f.Path); l.Reason != "decode" || len(l.Attempts) != 1 {
			t.Errorf("the dead letter is %+v", l)
		}
		if c := f.Stats().Subscriptions[0].Counts; c.Handled != 1 || c.Retried != 1 || c.Dead != 1 {
			t.Errorf("the counts are %+v", c)
		}
	})
}

func (env *Env) TestABatchThatOutlivesItsDeadlineFailsAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Journal[runtime.BatchInfo]
		f := env.Open(t, runtime.WithObserver(runtime.Observer{Batch: told.Add}))
		var batches Journal[string]
		release := make(chan struct{})
		defer close(release)
		var late Journal[error]
		f.Batches("slow", func(ctx context.Context, events []runtime.Event[OrderPlaced]) error {
			batches.Add(numbersAndAttempts(events))
			if events[0].Attempt > 1 {
				return nil
			}
			<-ctx.Done()
			late.Add(context.Cause(ctx))
			_, err := runtime.Publish(runtime.ItemContext(ctx, 1), f.Bus, PaidType, OrderPaid{})
			late.Add(err)
			<-release // ignores its context
			return nil
		}, runtime.WithBatch(3, time.Second), runtime.WithTimeout(10*time.Second), runtime.WithSlowAfter(5*time.Second))
		f.MustStart()
		f.Publish(1, 2, 3)
		f.Idle()
		f.sawBatches(batches.All(), "1.1 2.1 3.1", "1.2 2.2 3.2")
		var timeout *runtime.TimeoutError
		if errs := late.All(); len(errs) != 2 || !errors.As(errs[0], &timeout) || !errors.Is(errs[1], runtime.ErrAttemptOver) {
			t.Errorf("after the deadline the cause and what publishing returned are %v", errs)
		}
		s := f.Stats().Subscriptions[0]
		if s.Timeouts != 3 || s.Handled != 3 || s.Abandoned != 1 || s.Slow != 1 || s.Batches.TimedOut != 1 {
			t.Errorf("the counts are %+v %+v", s.Counts, s.Batches)
		}
		if infos := told.All(); len(infos) != 2 || !infos[0].TimedOut || infos[0].Failed != 3 || infos[0].Took != 10*time.Second || infos[1].Done != 3 {
			t.Errorf("the observer was told %+v", infos)
		}
	})
}

func (env *Env) TestAnEventThatAlwaysBreaksItsBatchDoesNotTakeOthersWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Batches("breaks", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			for _, e := range events {
				if e.Payload.Number == 7 {
					panic("seven")
				}
			}
			return nil
		}, runtime.WithBatch(25, time.Minute)) // so that the retries of all meet
		f.MustStart()
		f.Publish(Numbers(1, 25)...)
		f.Idle()
		if c := f.Stats().Subscriptions[0].Counts; c.Handled != 24 || c.Dead != 1 {
			t.Errorf("the counts are %+v, want 24 handled", c)
		}
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

func (env *Env) TestOptionsThatDoNotGoWithBatchesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		handler := func(context.Context, []runtime.Event[OrderPlaced]) error { return nil }
		for want, subscribe := range map[string]func() error{
			"cannot be in a group": func() error {
				_, err := runtime.SubscribeBatch(f.Bus, PlacedType, "one", handler, runtime.InGroup("group"))
				return err
			},
			"use SubscribeBatch": func() error {
				_, err := runtime.Subscribe(f.Bus, PaidType, "two", func(context.Context, runtime.Event[OrderPaid]) error { return nil }, runtime.WithBatch(2, 0))
				return err
			},
			"batches of one event": func() error {
				_, err := runtime.SubscribeBatch(f.Bus, PaidType, "three", func(context.Context, []runtime.Event[OrderPaid]) error { return nil }, runtime.WithStrictOrder())
				return err
			},
			"the handler is nil": func() error {
				_, err := runtime.SubscribeBatch(f.Bus, PlacedType, "four", nil)
				return err
			},
			"from 1 to 1000": func() error {
				_, err := runtime.SubscribeBatch(f.Bus, PlacedType, "five", handler, runtime.WithBatch(1001, 0))
				return err
			},
			"of 0 events": func() error {
				_, err := runtime.SubscribeBatch(f.Bus, PlacedType, "six", handler, runtime.WithBatch(0, time.Second))
				return err
			},
			"from 0 to 1h": func() error {
				_, err := runtime.SubscribeBatch(f.Bus, PlacedType, "seven", handler, runtime.WithBatch(1, -1))
				return err
			},
		} {
			var refused *runtime.SubscribeError
			if err := subscribe(); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one with %q", err, want)
			}
		}
	})
}

func (env *Env) TestWhatWasGatheredForABatchIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var batches Journal[string]
		handler := func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			batches.Add(numbersAndAttempts(events))
			return nil
		}
		s := f.Batches("batches", handler, runtime.WithBatch(10, time.Minute))
		f.MustStart()
		f.Publish(1, 2)
		synctest.Wait() // they are gathered
		Must(t, s.Unsubscribe(t.Context()))
		f.Publish(3)
		f.Batches("batches", handler, runtime.WithBatch(10, time.Minute))
		synctest.Wait()
		f.Stop()
		if got := batches.All(); len(got) > 0 {
			t.Errorf("the handler got %v", got)
		}
		f = env.Reopen(t, f.Path)
		f.Batches("batches", handler, runtime.WithBatch(10, time.Minute))
		f.MustStart()
		f.Idle()
		f.sawBatches(batches.All(), "1.1 2.1 3.1")
	})
}

func (env *Env) TestABatchThatWaitsForMoreDoesNotBeginDuringAPause(t *testing.T) {
	type pausing struct{ pause, resume func(f *Fixture) error }
	for name, test := range map[string]pausing{
		"of the subscription": {
			func(f *Fixture) error { return f.PauseSubscription(f.T.Context(), "batches") },
			func(f *Fixture) error { return f.ResumeSubscription(f.T.Context(), "batches") },
		},
		"of the type": {
			func(f *Fixture) error { return f.PauseTypes(f.T.Context(), "order.*") },
			func(f *Fixture) error { return f.ResumeTypes(f.T.Context(), "order.*") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var batches Journal[string]
				f.Batches("batches", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
					batches.Add(numbersAndAttempts(events))
					return nil
				}, runtime.WithBatch(10, time.Minute))
				f.MustStart()
				f.Publish(1, 2)
				synctest.Wait()
				Must(t, test.pause(f))
				time.Sleep(time.Hour)
				if got := batches.All(); len(got) > 0 {
					t.Errorf("during the pause the handler got %v", got)
				}
				Must(t, test.resume(f))
				f.Idle()
				f.sawBatches(batches.All(), "1.1 2.1")
			})
		})
	}
}

func (env *Env) TestAnEventThatExpiresWhileItsBatchRunsIsDeadAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var batches Journal[string]
		f.Batches("expiring", func(ctx context.Context, events []runtime.Event[OrderPlaced]) error {
			batches.Add(numbersAndAttempts(events))
			time.Sleep(8 * time.Second)
			return ctx.Err()
		}, runtime.WithBatch(3, 5*time.Second), runtime.WithExpiresAfter(10*time.Second))
		f.MustStart()
		f.Publish(1)
		time.Sleep(4 * time.Second)
		f.Publish(2)
		f.Idle()
		f.sawBatches(batches.All(), "1.1 2.1")
		if l := env.Letter(t, f.Path); l.Reason != "expired" {
			t.Errorf("the dead letter is %+v", l)
		}
		if c := f.Stats().Subscriptions[0].Counts; c.Handled != 1 || c.Expired != 1 {
			t.Errorf("the counts are %+v", c)
		}
	})
}

func (env *Env) TestAnOpenBreakerIsProbedWithABatchOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var batches Journal[string]
		var broken atomic.Bool
		broken.Store(true)
		f.Batches("guarded", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			batches.Add(fmt.Sprint(len(events)))
			if broken.Load() {
				return ErrBoom
			}
			return nil
		}, runtime.WithBatch(10, time.Second), runtime.WithBreaker(breaker.On()), runtime.WithRetry(retry.BaseDelay(time.Minute), retry.MaxDelay(time.Hour)))
		f.MustStart()
		f.Publish(Numbers(1, 10)...)
		synctest.Wait()
		broken.Store(false)
		f.Publish(Numbers(11, 20)...)
		f.Idle()
		got := batches.All()
		if len(got) < 3 || got[0] != "10" || got[1] != "1" {
			t.Errorf("the batches have %v events, want 10 and then 1", got)
		}
		if c := f.Stats().Subscriptions[0].Counts; c.Handled != 20 {
			t.Errorf("the counts are %+v", c)
		}
	})
}

func (env *Env) TestAShutdownInterruptsABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var batches Journal[string]
		f.Batches("interrupted", func(ctx context.Context, events []runtime.Event[OrderPlaced]) error {
			batches.Add(numbersAndAttempts(events))
			<-ctx.Done()
			return ctx.Err()
		}, runtime.WithBatch(3, time.Second))
		f.MustStart()
		f.Publish(1, 2, 3)
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		f.Shutdown(ctx)
		f = env.Reopen(t, f.Path)
		f.Batches("interrupted", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			batches.Add(numbersAndAttempts(events))
			return nil
		}, runtime.WithBatch(3, time.Second))
		f.MustStart()
		f.Idle()
		f.sawBatches(batches.All(), "1.1 2.1 3.1", "1.2 2.2 3.2")
		if c := f.Stats().Subscriptions[0].Counts; c.Handled != 3 {
			t.Errorf("the counts are %+v", c)
		}
	})
}

func (env *Env) TestACancelledEventIsTakenOutOfTheBatchThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var batches Journal[string]
		f.Batches("batches", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			batches.Add(numbersAndAttempts(events))
			return nil
		}, runtime.WithBatch(10, time.Minute))
		f.MustStart()
		receipts := f.Publish(1, 2, 3)
		synctest.Wait()
		Must(t, receipts[1].Cancel(t.Context()))
		f.Idle()
		f.sawBatches(batches.All(), "1.1 3.1")
	})
}

func (env *Env) TestAfterACrashTheEventsOfABatchRunAloneAndTheCrashCountsForNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Batches("batches", func(ctx context.Context, _ []runtime.Event[OrderPlaced]) error {
			<-ctx.Done()
			return ctx.Err()
		}, runtime.WithBatch(5, time.Second))
		f.MustStart()
		f.Publish(Numbers(1, 6)...)
		path := f.Killed()
		f = env.Reopen(t, path)
		var batches Journal[string]
		f.Batches("batches", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			batches.Add(numbersAndAttempts(events))
			return nil
		}, runtime.WithBatch(5, time.Second))
		f.MustStart()
		f.Idle()
		f.sawBatches(batches.All(), "1.2", "2.2", "3.2", "4.2", "5.2", "6.1")
		if c := f.Stats().Subscriptions[0].Counts; c.Handled != 6 || c.Failed != 0 {
			t.Errorf("the counts are %+v", c)
		}
	})
}
