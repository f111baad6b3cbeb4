package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

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
		var told Journal[observe.BatchInfo]
		f := env.Open(t, runtime.WithObserver(observe.Observer{Batch: told.Add}))
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
