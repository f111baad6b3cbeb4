package conformance

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
)

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
			func(f *Fixture) error { return f.PauseSubscription(f.T.Context(), "batches", "") },
			func(f *Fixture) error { return f.ResumeSubscription(f.T.Context(), "batches") },
		},
		"of the type": {
			func(f *Fixture) error { return f.PauseTypes(f.T.Context(), "order.*", "") },
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
