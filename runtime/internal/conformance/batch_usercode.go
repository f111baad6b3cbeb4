package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// Code that is called to decode one event of a batch harms no other event, whatever it does.
func (env *Env) TestAnEventThatCannotBeReadForABatchFailsAlone(t *testing.T) {
	for trap, want := range map[Trap]struct {
		reason, kind string
		failed       uint64 // attempts
	}{
		"panic in decode":  {"decode", "decode", 1},
		"goexit in decode": {"decode", "decode", 1},
		"hang in decode":   {"max_attempts", "timeout", 2},
	} {
		t.Run(string(trap), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				Hanging = make(chan struct{})
				defer close(Hanging)
				f := env.ReopenWith(t, env.Target(t), TrappedCatalogue)
				var seen Journal[string]
				_, err := runtime.SubscribeBatch(f.Bus, trappedHighType, "reader", func(_ context.Context, events []runtime.Event[trapped]) error {
					for _, e := range events {
						if e.Attempt > 2 {
							t.Errorf("event %d has attempt %d", e.Payload.N, e.Attempt)
						}
						seen.Add(fmt.Sprint(e.Payload.N))
					}
					return nil
				}, runtime.FromBeginning(), runtime.WithBatch(5, time.Second), runtime.WithRetry(retry.MaxAttempts(2)), runtime.WithBreaker(breaker.Off()))
				Must(t, err)
				for n := range 5 {
					what := Trap("")
					if n == 2 {
						what = trap
					}
					_, err := runtime.Publish(t.Context(), f.Bus, trappedHighType, trapped{Trap: what, N: n})
					Must(t, err)
				}
				f.MustStart()
				f.Idle()
				if got := seen.All(); len(got) != 4 {
					t.Errorf("the handler got %v, want all but 2", got)
				}
				c := f.Stats().Subscriptions[0].Counts
				if c.Handled != 4 || c.Dead != 1 || c.Failed != want.failed {
					t.Errorf("the counts are %+v", c)
				}
				l := env.Letter(t, f.Path)
				if l.Reason != want.reason || l.Attempts[0].Kind != want.kind {
					t.Errorf("the dead letter is %+v", l)
				}
			})
		})
	}
}

// Publishers can give one event a timeout of its own. The shortest holds for its batch.
func (env *Env) TestTheShortestTimeoutOfItsEventsHoldsForABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var took Journal[time.Duration]
		f.Batches("slow", func(ctx context.Context, events []runtime.Event[OrderPlaced]) error {
			if events[0].Attempt > 1 {
				return nil
			}
			start := time.Now()
			<-ctx.Done()
			took.Add(time.Since(start))
			return ctx.Err()
		}, runtime.WithBatch(2, time.Second))
		f.MustStart()
		f.Publish(1)
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 2}, runtime.WithAttemptTimeout(5*time.Second))
		Must(t, err)
		f.Idle()
		if got := took.All(); len(got) != 1 || got[0] != 5*time.Second {
			t.Errorf("the batches took %v, want one of 5s", got)
		}
		if c := f.Stats().Subscriptions[0].Counts; c.Timeouts != 2 || c.Handled != 2 {
			t.Errorf("the counts are %+v", c)
		}
	})
}

func (env *Env) TestAShortTimeoutInABatchMakesNoOtherEventExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Batches("slow", func(ctx context.Context, events []runtime.Event[OrderPlaced]) error {
			if events[0].Attempt > 1 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}, runtime.WithBatch(2, time.Second), runtime.WithExpiresAfter(20*time.Second), runtime.WithTimeout(30*time.Second))
		f.MustStart()
		f.Publish(1)
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 2}, runtime.WithAttemptTimeout(time.Second))
		Must(t, err)
		f.Idle()
		if c := f.Stats().Subscriptions[0].Counts; c.Timeouts != 2 || c.Handled != 2 || c.Dead != 0 {
			t.Errorf("the counts are %+v, want two timeouts and two events handled", c)
		}
	})
}

func (env *Env) TestABatchThatIsLargerThanAPageFillsFromTheBacklogAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var sizes Journal[int]
		f.Batches("large", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			sizes.Add(len(events))
			return nil
		}, runtime.WithBatch(600, time.Hour))
		f.Publish(Numbers(1, 600)...)
		began := time.Now()
		f.MustStart()
		f.Idle()
		if got := sizes.All(); len(got) != 1 || got[0] != 600 || time.Since(began) > time.Minute {
			t.Errorf("after %v the batches have %v events, want 600", time.Since(began), got)
		}
	})
}

func (env *Env) TestTheSizeOfBatchesIsTunedWhileTheBusRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var sizes Journal[int]
		f.Batches("tuned", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			sizes.Add(len(events))
			return nil
		})
		f.MustStart()
		settings := PlacedType.Any().Settings()
		settings.Batch = declare.Batch{Size: 3, Wait: time.Minute}
		Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{PlacedType.Name(): settings}}))
		f.Publish(1, 2, 3)
		synctest.Wait()
		if got := sizes.All(); len(got) != 1 || got[0] != 3 {
			t.Errorf("the batches have %v events, want 3", got)
		}
		settings.Batch.Size = 1001
		if err := f.Tune(runtime.Tuning{Types: map[string]declare.Settings{PlacedType.Name(): settings}}); err == nil {
			t.Error("batches of 1001 are allowed")
		}
	})
}

func (env *Env) TestEphemeralSubscriptionsAndMiddlewareDoNotGoWithBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		pass := func(next runtime.Next) runtime.Next { return next }
		for _, opt := range []runtime.SubscribeOption{runtime.Ephemeral(), runtime.WithHandlerMiddleware(pass)} {
			var refused *runtime.SubscribeError
			_, err := runtime.SubscribeBatch(f.Bus, PlacedType, "batches", func(context.Context, []runtime.Event[OrderPlaced]) error { return nil }, opt)
			if !errors.As(err, &refused) {
				t.Errorf("got %v", err)
			}
		}
	})
}
