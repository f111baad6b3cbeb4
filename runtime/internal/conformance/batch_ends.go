package conformance

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

// These tests let a batch end early: its last attempts, its expiry, a shutdown.

// An event that has failed before has a batch of its own if its next attempt may be the last
// one, whatever decides that.
func (env *Env) TestAnEventDoesNotDieOfItsBatchWhateverMakesAnAttemptTheLastOne(t *testing.T) {
	boom := func(err error) bool { return errors.Is(err, ErrBoom) }
	never := func(error) bool { return false }
	often := retry.MaxAttempts(20)
	for name, test := range map[string]struct {
		opts      []runtime.SubscribeOption
		published []runtime.PublishOption
		reason    string
	}{
		"the policy": {opts: []runtime.SubscribeOption{runtime.WithRetry(retry.MaxAttempts(3))}, reason: "max_attempts"},
		"the policy of a class": {
			opts: []runtime.SubscribeOption{runtime.WithRetry(often), runtime.WithErrorRetry(boom, retry.MaxAttempts(2))}, reason: "max_attempts",
		},
		"the policy, and a class allows more": {
			opts: []runtime.SubscribeOption{runtime.WithRetry(retry.MaxAttempts(3)), runtime.WithErrorRetry(never, often)}, reason: "max_attempts",
		},
		"the expiry": {
			opts:   []runtime.SubscribeOption{runtime.WithRetry(often), runtime.WithExpiresAfter(10 * time.Minute)},
			reason: "expired",
		},
		"the expiry of the event itself": {
			opts:      []runtime.SubscribeOption{runtime.WithRetry(often)},
			published: []runtime.PublishOption{runtime.WithExpiry(10 * time.Minute)},
			reason:    "expired",
		},
		"the expiry, for a class that waits longer": {
			opts: []runtime.SubscribeOption{
				runtime.WithRetry(often), runtime.WithErrorRetry(boom, retry.BaseDelay(7*time.Minute), retry.MaxDelay(time.Hour)),
				runtime.WithExpiresAfter(10 * time.Minute),
			},
			reason: "expired",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				opts := []runtime.SubscribeOption{
					runtime.WithBatch(25, 5*time.Second), runtime.WithBreaker(breaker.Off()),
					runtime.WithRetry(retry.WithBackoff(retry.Constant), retry.BaseDelay(3*time.Minute), retry.MaxDelay(time.Hour), retry.Jitter(0)),
				}
				f.Batches("breaks", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
					for _, e := range events {
						switch {
						case e.Payload.Number == 7 && e.Attempt == 1:
							return errors.New("of no class")
						case e.Payload.Number == 7:
							return ErrBoom
						}
					}
					return nil
				}, append(opts, test.opts...)...)
				f.MustStart()
				for n := range 25 {
					_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: n}, test.published...)
					Must(t, err)
				}
				f.Idle()
				if c := f.Stats().Subscriptions[0].Counts; c.Handled != 24 || c.Dead != 1 {
					t.Errorf("the counts are %+v, want 24 handled", c)
				}
				if l := env.Letter(t, f.Path); l.Reason != test.reason {
					t.Errorf("the dead letter is %+v", l)
				}
			})
		})
	}
}

func (env *Env) TestABatchEndsWhenAllOfItsEventsHaveExpired(t *testing.T) {
	for name, timeout := range map[string]runtime.SubscribeOption{"without a timeout": runtime.WithoutTimeout(), "before the timeout": runtime.WithTimeout(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told Journal[observe.BatchInfo]
				f := env.Open(t, runtime.WithObserver(observe.Observer{Batch: told.Add}))
				never := make(chan struct{})
				defer close(never)
				var batches Journal[string]
				var causes Journal[error]
				var took Journal[time.Duration]
				f.Batches("hanging", func(ctx context.Context, events []runtime.Event[OrderPlaced]) error {
					batches.Add(numbersAndAttempts(events))
					if events[0].Payload.Number > 2 {
						return nil
					}
					began := time.Now()
					<-ctx.Done()
					took.Add(time.Since(began))
					causes.Add(context.Cause(ctx))
					_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{})
					causes.Add(err)
					<-never // ignores its context
					return nil
				}, timeout, runtime.WithBatch(2, time.Second))
				f.MustStart()
				for n, expiry := range []time.Duration{10 * time.Second, 20 * time.Second, time.Minute, time.Minute} {
					_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: n + 1}, runtime.WithExpiry(expiry))
					Must(t, err)
				}
				time.Sleep(3 * time.Minute)
				synctest.Wait()
				f.sawBatches(batches.All(), "1.1 2.1", "3.1 4.1")
				if got := took.All(); len(got) != 1 || got[0].Round(time.Second) != 20*time.Second {
					t.Errorf("the contexts ended after %v, want 20s", got)
				}
				var expired *runtime.ExpiredError
				if errs := causes.All(); len(errs) != 2 || !errors.As(errs[0], &expired) || !errors.Is(errs[1], runtime.ErrAttemptOver) {
					t.Errorf("after the expiry the cause and what publishing returned are %v", errs)
				}
				s := f.Stats().Subscriptions[0]
				if s.Handled != 2 || s.Expired != 2 || s.Dead != 2 || s.Abandoned != 1 || s.Batches.TimedOut != 0 {
					t.Errorf("the counts are %+v %+v", s.Counts, s.Batches)
				}
				if infos := told.All(); len(infos) != 2 || infos[0].Failed != 2 || infos[0].TimedOut || infos[1].Done != 2 {
					t.Errorf("the observer was told %+v", infos)
				}
			})
		})
	}
}

func (env *Env) TestAnEventThatExpiresWhileItIsReadLeavesTheOthersOfItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		Hanging = make(chan struct{})
		defer close(Hanging)
		f := env.ReopenWith(t, env.Target(t), TrappedCatalogue)
		var seen Journal[int]
		_, err := runtime.SubscribeBatch(f.Bus, trappedHighType, "reader", func(_ context.Context, events []runtime.Event[trapped]) error {
			for _, e := range events {
				seen.Add(e.Payload.N)
			}
			return nil
		}, runtime.WithBatch(3, time.Second), runtime.WithoutTimeout())
		Must(t, err)
		f.MustStart()
		for n := range 3 {
			var opts []runtime.PublishOption
			what := Trap("")
			if n == 1 {
				what, opts = "hang in decode", []runtime.PublishOption{runtime.WithExpiry(10 * time.Second)}
			}
			_, err := runtime.Publish(t.Context(), f.Bus, trappedHighType, trapped{Trap: what, N: n}, opts...)
			Must(t, err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := seen.All(); !slices.Equal(got, []int{0, 2}) {
			t.Errorf("the handler got %v", got)
		}
		if l := env.Letter(t, f.Path); l.Reason != "expired" {
			t.Errorf("the dead letter is %+v", l)
		}
	})
}

func (env *Env) TestAShutdownWhileABatchIsReadCountsForTheEventThatIsReadAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		Hanging = make(chan struct{})
		target := env.Target(t)
		var limits Journal[[2]int]
		open := func() *Fixture {
			f := env.ReopenWith(t, target, TrappedCatalogue)
			_, err := runtime.SubscribeBatch(f.Bus, trappedHighType, "reader", func(_ context.Context, events []runtime.Event[trapped]) error {
				for _, e := range events {
					limits.Add([2]int{e.Payload.N, e.MaxAttempts})
				}
				return nil
			}, runtime.WithBatch(3, time.Second), runtime.WithRetry(retry.MaxAttempts(5)))
			Must(t, err)
			f.MustStart()
			return f
		}
		f := open()
		for n := range 3 {
			what := Trap("")
			if n == 1 {
				what = "hang in decode"
			}
			_, err := runtime.Publish(t.Context(), f.Bus, trappedHighType, trapped{Trap: what, N: n})
			Must(t, err)
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		f.Shutdown(ctx)
		close(Hanging)
		f = open()
		f.Idle()
		// An attempt that does not count puts the last one off.
		got := limits.All()
		slices.SortFunc(got, func(a, b [2]int) int { return a[0] - b[0] })
		if want := [][2]int{{0, 6}, {1, 5}, {2, 6}}; !slices.Equal(got, want) {
			t.Errorf("the events and their last attempts are %v, want %v", got, want)
		}
	})
}

// The race detector sees whether the worker and the deadline use the same things.
func (env *Env) TestABatchTimesOutInTheMomentInWhichAnEventIsRead(t *testing.T) {
	for _, what := range []Trap{"hang in decode", "hang and fail in decode"} {
		for range 20 {
			synctest.Test(t, func(t *testing.T) {
				Hanging = make(chan struct{})
				f := env.ReopenWith(t, env.Target(t), TrappedCatalogue)
				var handled Journal[int]
				_, err := runtime.SubscribeBatch(f.Bus, trappedHighType, "reader", func(_ context.Context, events []runtime.Event[trapped]) error {
					for _, e := range events {
						handled.Add(e.Payload.N)
					}
					return nil
				}, runtime.WithBatch(3, time.Second), runtime.WithTimeout(10*time.Second), runtime.WithRetry(retry.MaxAttempts(3)))
				Must(t, err)
				f.MustStart()
				for n := range 3 {
					trap := Trap("")
					if n == 1 {
						trap = what
					}
					_, err := runtime.Publish(t.Context(), f.Bus, trappedHighType, trapped{Trap: trap, N: n})
					Must(t, err)
				}
				synctest.Wait()
				hanging := Hanging
				time.AfterFunc(10*time.Second, func() { close(hanging) })
				f.Idle()
				c := f.Stats().Subscriptions[0].Counts
				if want := uint64(3 - c.Dead); c.Handled != want || (what == "hang in decode") != (c.Dead == 0) {
					t.Errorf("the counts are %+v", c)
				}
			})
		}
	}
}
