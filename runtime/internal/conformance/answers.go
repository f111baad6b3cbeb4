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
	"github.com/busgen/busgen/runtime/ask"
	"github.com/busgen/busgen/runtime/retry"
)

// answer subscribes to order.placed with a handler that answers.
func answer[R any](f *Fixture, name string, handler runtime.AnswerHandler[OrderPlaced, R], opts ...runtime.SubscribeOption) *runtime.Subscription {
	f.T.Helper()
	s, err := runtime.SubscribeAnswer(f.Bus, PlacedType, name, handler, opts...)
	Must(f.T, err)
	return s
}

// says returns a handler that answers with a value after a time, unless it is cancelled.
func says[R any](value R, after time.Duration) runtime.AnswerHandler[OrderPlaced, R] {
	return func(ctx context.Context, _ runtime.Event[OrderPlaced]) (R, error) {
		select {
		case <-time.After(after):
			return value, nil
		case <-ctx.Done():
			var none R
			return none, context.Cause(ctx)
		}
	}
}

// refuses returns a handler that fails for good.
func refuses(err error) runtime.AnswerHandler[OrderPlaced, string] {
	return func(context.Context, runtime.Event[OrderPlaced]) (string, error) { return "", runtime.Permanent(err) }
}

// passes has no answer.
func passes(context.Context, runtime.Event[OrderPlaced]) (string, error) {
	return "", ask.ErrNoAnswer
}

// request asks for a string, with a context that ends with the test.
func (f *Fixture) request(opts ...runtime.PublishOption) (string, error) {
	return runtime.Request[string](f.T.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 1}, opts...)
}

// collect asks for all answers, and returns them as NAME=VALUE.
func (f *Fixture) collect(opts ...runtime.CollectOption) (string, error) {
	answers, err := runtime.Collect[string](f.T.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 1}, opts...)
	texts := []string{}
	for _, a := range answers {
		texts = append(texts, a.Subscription+"="+a.Value)
	}
	return strings.Join(texts, " "), err
}

// states waits until nothing is pending, and returns the states of all deliveries as
// SUBSCRIPTION STATE REASON, sorted.
func (f *Fixture) states() string {
	f.T.Helper()
	f.Idle()
	var states []string
	for _, d := range f.peek().deliveries() {
		states = append(states, strings.TrimSpace(fmt.Sprintf("%s %s %s", d.Subscription, d.State, d.Reason)))
	}
	slices.Sort(states)
	return strings.Join(states, ", ")
}

func (env *Env) TestTheFirstAnswerByTimeWinsAndTheLosersContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var cause error
		var lost time.Duration
		began := time.Now()
		answer(f, "slow", func(ctx context.Context, e runtime.Event[OrderPlaced]) (string, error) {
			value, err := says("slow", time.Second)(ctx, e)
			cause, lost = context.Cause(ctx), since(began)
			return value, err
		})
		answer(f, "fast", says("fast", 10*time.Millisecond))
		f.MustStart()
		began = time.Now()
		got, err := f.request()
		if took := since(began); got != "fast" || err != nil || took != 10*time.Millisecond {
			t.Errorf("the answer is %q with error %v after %v, want fast after 10ms", got, err, took)
		}
		if got, want := f.states(), "fast done, slow discarded answered by fast"; got != want {
			t.Errorf("the deliveries are %s, want %s", got, want)
		}
		if cause != ask.ErrAnswered || lost != 10*time.Millisecond {
			t.Errorf("the loser's context ended with cause %v after %v", cause, lost)
		}
		if dead := env.Dead(t, f.Path); len(dead) > 0 {
			t.Errorf("dead letters: %v", dead)
		}
	})
}

func (env *Env) TestZeroValuesAndNilAreAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { answersZero(t, env, 0) })
	synctest.Test(t, func(t *testing.T) { answersZero(t, env, false) })
	synctest.Test(t, func(t *testing.T) { answersZero(t, env, "") })
	synctest.Test(t, func(t *testing.T) { answersZero[*int](t, env, nil) })
	synctest.Test(t, func(t *testing.T) { answersZero[error](t, env, nil) })
}

func answersZero[R comparable](t *testing.T, env *Env, zero R) {
	f := env.Open(t)
	answer(f, "fast", says(zero, time.Millisecond))
	answer(f, "slow", says(zero, time.Hour), runtime.WithTimeout(2*time.Hour))
	f.MustStart()
	began := time.Now()
	got, err := runtime.Request[R](t.Context(), f.Bus, PlacedType, OrderPlaced{})
	if took := since(began); got != zero || err != nil || took != time.Millisecond {
		t.Errorf("%T: the answer is %v with error %v after %v", zero, got, err, took)
	}
	all, err := runtime.Collect[R](t.Context(), f.Bus, PlacedType, OrderPlaced{}, runtime.FirstAnswers(1))
	if err != nil || len(all) != 1 || all[0].Value != zero || all[0].Subscription != "fast" {
		t.Errorf("%T: collected %v with error %v", zero, all, err)
	}
}

func (env *Env) TestFailuresOfAllWhoAnswerAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		errOne, errTwo := errors.New("one is down"), errors.New("two is down")
		answer(f, "one", refuses(errOne))
		answer(f, "two", func(ctx context.Context, e runtime.Event[OrderPlaced]) (string, error) { return "", errTwo },
			runtime.WithRetry(retry.MaxAttempts(2), retry.BaseDelay(time.Minute), retry.MaxDelay(time.Minute)))
		answer(f, "three", passes)
		f.MustStart()
		began := time.Now()
		_, err := f.request()
		var failed *ask.AllFailedError
		if !errors.As(err, &failed) || len(failed.Failed) != 2 || failed.EventType != "order.placed" {
			t.Fatalf("the error is %v", err)
		}
		if !errors.Is(err, errOne) || !errors.Is(err, errTwo) || errors.Is(err, ask.ErrNoAnswer) {
			t.Errorf("the error %v does not match those of the handlers", err)
		}
		if a, b := failed.Failed[0], failed.Failed[1]; a.Subscription != "one" || b.Subscription != "two" {
			t.Errorf("failed: %v", failed.Failed)
		}
		if took := since(began); took != time.Minute {
			t.Errorf("it took %v: the caller has not waited for the retry, or for more than that", took)
		}
		f.Idle()
		if n := len(env.Dead(t, f.Path)); n != 2 {
			t.Errorf("there are %d dead letters", n)
		}
	})
}

func (env *Env) TestNobodyHavingAnAnswerIsAnErrorOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		answer(f, "one", passes)
		answer(f, "two", func(context.Context, runtime.Event[OrderPlaced]) (string, error) {
			return "", fmt.Errorf("out of stock: %w", ask.ErrNoAnswer)
		})
		f.MustStart()
		got, err := f.request()
		var nobody *ask.NoAnswererError
		if got != "" || !errors.Is(err, ask.ErrNoAnswer) || errors.As(err, &nobody) {
			t.Errorf("the answer is %q, the error %v", got, err)
		}
		if got, want := f.states(), "one done, two done"; got != want {
			t.Errorf("the deliveries are %s, want %s", got, want)
		}
		if got, err := f.collect(); got != "" || err != nil {
			t.Errorf("collected %q with error %v, want nothing without one", got, err)
		}
	})
}

func (env *Env) TestARequestThatNobodyAnswersPublishesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("listener", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		_, err := f.request()
		if !errors.Is(err, ask.ErrNotDispatching) {
			t.Errorf("before the start the error is %v", err)
		}
		f.MustStart()
		_, err = f.request()
		var nobody *ask.NoAnswererError
		if !errors.As(err, &nobody) || nobody.EventType != "order.placed" || !errors.Is(err, ask.ErrNoAnswer) {
			t.Errorf("the error is %v", err)
		}
		answer(f, "one", says("one", 0))
		_, err = runtime.Request[int](t.Context(), f.Bus, PlacedType, OrderPlaced{})
		var other *ask.AnswerTypeError
		if !errors.As(err, &other) || other.Answers != "string" || other.Wanted != "int" || other.Subscription != "one" {
			t.Errorf("for another type the error is %v", err)
		}
		var option *runtime.OptionError
		if _, err := f.request(runtime.WithDedupeKey("k")); !errors.As(err, &option) {
			t.Errorf("with a dedupe key the error is %v", err)
		}
		if _, err := f.request(nil); !errors.As(err, &option) {
			t.Errorf("with an option that is nil the error is %v", err)
		}
		for _, opt := range []runtime.CollectOption{nil, runtime.PublishOption(nil), runtime.FirstAnswers(0), runtime.AnswersWithin(0), runtime.AnswersUntil(time.Now())} {
			if _, err := f.collect(opt); !errors.As(err, &option) {
				t.Errorf("with an option that is not valid the error is %v", err)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := runtime.Request[string](ended, f.Bus, PlacedType, OrderPlaced{}); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended the error is %v", err)
		}
		if n := f.peek().stored(); n != 0 {
			t.Errorf("%d events are stored", n)
		}
		f.Stop()
		if _, err := f.request(); !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("after a shutdown the error is %v", err)
		}
	})
}

func (env *Env) TestAFailedOneIsLeftOutIfAnotherAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		answer(f, "broken", refuses(ErrBoom))
		answer(f, "silent", passes)
		answer(f, "slow", says("slow but well", time.Second))
		f.MustStart()
		if got, err := f.request(); got != "slow but well" || err != nil {
			t.Errorf("the answer is %q, the error %v", got, err)
		}
	})
}

func (env *Env) TestARetryMayAnswerLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		answer(f, "third-time-lucky", func(_ context.Context, e runtime.Event[OrderPlaced]) (string, error) {
			if e.Attempt < 3 {
				return "too early", ErrBoom
			}
			return fmt.Sprint("attempt ", e.Attempt), nil
		}, runtime.WithRetry(retry.WithBackoff(retry.Constant), retry.BaseDelay(time.Minute), retry.MaxDelay(time.Minute)))
		f.MustStart()
		began := time.Now()
		if got, err := f.request(); got != "attempt 3" || err != nil || since(began) != 2*time.Minute {
			t.Errorf("the answer is %q, the error %v after %v", got, err, since(began))
		}
	})
}

func (env *Env) TestALoserThatWasToRetryIsDiscardedInstead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var calls atomic.Int32
		answer(f, "fails", func(context.Context, runtime.Event[OrderPlaced]) (string, error) {
			calls.Add(1)
			return "", ErrBoom
		}, runtime.WithRetry(retry.WithBackoff(retry.Constant), retry.BaseDelay(time.Minute), retry.MaxDelay(time.Minute)))
		answer(f, "wins", says("won", time.Second))
		f.MustStart()
		if got, err := f.request(); got != "won" || err != nil {
			t.Errorf("the answer is %q, the error %v", got, err)
		}
		if got, want := f.states(), "fails discarded answered by wins, wins done"; got != want || calls.Load() != 1 {
			t.Errorf("the deliveries are %s after %d calls, want %s after 1", got, calls.Load(), want)
		}
	})
}

func (env *Env) TestALoserThatHasNotBegunIsNotCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var calls atomic.Int32
		busy := answer(f, "busy", func(ctx context.Context, e runtime.Event[OrderPlaced]) (string, error) {
			calls.Add(1)
			return "busy", nil
		})
		answer(f, "free", says("free", 0))
		f.MustStart()
		Must(t, f.PauseSubscription(t.Context(), busy.Name(), ""))
		if got, err := f.request(); got != "free" || err != nil {
			t.Errorf("the answer is %q, the error %v", got, err)
		}
		Must(t, f.ResumeSubscription(t.Context(), busy.Name()))
		if got, want := f.states(), "busy discarded answered by free, free done"; got != want || calls.Load() != 0 {
			t.Errorf("the deliveries are %s after %d calls of the handler, want %s", got, calls.Load(), want)
		}
	})
}

func (env *Env) TestALoserThatIgnoresItsContextIsDiscardedWithWhatItHasPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		answer(f, "stubborn", func(ctx context.Context, _ runtime.Event[OrderPlaced]) (string, error) {
			_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: "before"})
			Must(t, err)
			time.Sleep(time.Second)
			if _, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: "after"}); !errors.Is(err, context.Canceled) {
				t.Errorf("a loser publishes with error %v", err)
			}
			return "stubborn", nil
		})
		answer(f, "fast", says("fast", time.Millisecond))
		f.MustStart()
		if got, err := f.request(); got != "fast" || err != nil {
			t.Errorf("the answer is %q, the error %v", got, err)
		}
		if got, want := f.states(), "fast done, stubborn discarded answered by fast"; got != want {
			t.Errorf("the deliveries are %s, want %s", got, want)
		}
		if n := f.peek().stored(); n != 1 {
			t.Errorf("%d events are stored, want the one that was asked", n)
		}
	})
}

func (env *Env) TestSubscriptionsThatDoNotAnswerAreNeitherWaitedForNorEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ended error
		f.Handle("listener", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			time.Sleep(10 * time.Second)
			ended = ctx.Err()
			return nil
		})
		one := answer(f, "one", says("one", time.Millisecond))
		f.MustStart()
		began := time.Now()
		if got, err := f.request(); got != "one" || err != nil || since(began) != time.Millisecond {
			t.Errorf("the answer is %q, the error %v after %v", got, err, since(began))
		}
		if got, want := f.states(), "listener done, one done"; got != want || ended != nil {
			t.Errorf("the deliveries are %s, the context ended with %v", got, ended)
		}
		Must(t, one.Unsubscribe(t.Context()))
		answer(f, "two", passes)
		began = time.Now()
		if _, err := f.request(); !errors.Is(err, ask.ErrNoAnswer) || since(began) != 0 {
			t.Errorf("the error is %v after %v", err, since(began))
		}
	})
}

func (env *Env) TestAGroupStopsAskingAfterAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var s Journal[string]
		member := func(name string, handler runtime.AnswerHandler[OrderPlaced, string]) {
			answer(f, name, func(ctx context.Context, e runtime.Event[OrderPlaced]) (string, error) {
				s.Add(name)
				return handler(ctx, e)
			}, runtime.InGroup("desk"))
		}
		member("first", passes)
		member("second", says("second", time.Second))
		f.Handle("listener", func(context.Context, runtime.Event[OrderPlaced]) error {
			s.Add("listener")
			return nil
		}, runtime.InGroup("desk"))
		member("third", says("third", 0))
		f.MustStart()
		began := time.Now()
		if got, err := f.request(); got != "second" || err != nil || since(began) != time.Second {
			t.Errorf("the answer is %q, the error %v after %v", got, err, since(began))
		}
		if got, want := f.states(), "desk done"; got != want {
			t.Errorf("the deliveries are %s, want %s", got, want)
		}
		if got, want := strings.Join(s.All(), " "), "first second listener"; got != want {
			t.Errorf("called: %s; want %s", got, want)
		}
		if got, err := f.collect(); got != "second=second third=third" || err != nil {
			t.Errorf("collected %q with error %v", got, err)
		}
	})
}

func (env *Env) TestAGroupThatFailsIsOneFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		answer(f, "first", refuses(ErrBoom), runtime.InGroup("desk"))
		answer(f, "second", says("second", 0), runtime.InGroup("desk"))
		f.MustStart()
		_, err := f.request()
		var failed *ask.AllFailedError
		if !errors.As(err, &failed) || len(failed.Failed) != 1 || failed.Failed[0].Subscription != "first" || !errors.Is(err, ErrBoom) {
			t.Errorf("the error is %v", err)
		}
	})
}
