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
	"github.com/busgen/busgen/runtime/observe"
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
		var told Journal[observe.BatchInfo]
		f := env.Open(t, runtime.WithObserver(observe.Observer{Batch: told.Add}))
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
		if stats.Handled != 22 || stats.Failed != 3 || stats.Retried != 3 || *stats.Batches != (observe.BatchStats{Batches: 1, Events: 25}) {
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
				synctest.Wait()                       // what it reads at its start may have to wait a microsecond for the publisher
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
		"a typed nil":              {func() error { return missing }, "error", "nil pointer of type *errs.BatchError"},
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
