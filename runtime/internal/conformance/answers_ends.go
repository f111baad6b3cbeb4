package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/ask"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

// How a request ends in other ways than with an answer, and what becomes of its event.

func (env *Env) TestACallerWhoseContextEndsLeavesTheEventToItsHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ended error
		answer(f, "slow", func(ctx context.Context, e runtime.Event[OrderPlaced]) (string, error) {
			defer func() { ended = ctx.Err() }()
			return says("slow", 10*time.Second)(ctx, e)
		})
		f.MustStart()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := runtime.Request[string](ctx, f.Bus, PlacedType, OrderPlaced{})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "order.placed") || since(began) != time.Second {
			t.Errorf("the error is %v after %v", err, since(began))
		}
		if got, want := f.states(), "slow done"; got != want || ended != nil {
			t.Errorf("the deliveries are %s, and the context ended with %v", got, ended)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got, err := runtime.Collect[string](ctx, f.Bus, PlacedType, OrderPlaced{}); len(got) > 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("collected %v with error %v", got, err)
		}
	})
}

func (env *Env) TestAnEventWhoseCallerIsGoneIsHandledAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		answer(f, "desk", says("never", time.Hour), runtime.WithTimeout(2*time.Hour))
		f.MustStart()
		errs := make(chan error, 1)
		go func() {
			_, err := f.request()
			errs <- err
		}()
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		f.Shutdown(ctx)
		if err := <-errs; !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("the caller gets %v", err)
		}
		f = env.Reopen(t, f.Path)
		var calls atomic.Int32
		answer(f, "desk", func(context.Context, runtime.Event[OrderPlaced]) (string, error) {
			calls.Add(1)
			return "dropped", nil
		})
		f.MustStart()
		if got, want := f.states(), "desk done"; got != want || calls.Load() != 1 {
			t.Errorf("the deliveries are %s after %d calls", got, calls.Load())
		}
	})
}

func (env *Env) TestAnEventThatNobodyAsksForIsHandledByThoseWhoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		answer(f, "one", says("one", 0))
		answer(f, "two", passes)
		answer(f, "three", refuses(ErrBoom))
		f.MustStart()
		f.Publish(1)
		if got, want := f.states(), "one done, three dead permanent, two done"; got != want {
			t.Errorf("the deliveries are %s, want %s", got, want)
		}
	})
}

func (env *Env) TestAnAnswerHandlerThatPanicsOrExitsFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		once := runtime.WithRetry(retry.MaxAttempts(1))
		answer(f, "panics", func(context.Context, runtime.Event[OrderPlaced]) (string, error) { panic("the desk is on fire") }, once)
		answer(f, "hangs", func(ctx context.Context, _ runtime.Event[OrderPlaced]) (string, error) {
			<-ctx.Done()
			return "too late", nil
		}, once, runtime.WithTimeout(time.Second))
		answer(f, "evil", func(context.Context, runtime.Event[OrderPlaced]) (string, error) { return "", evilError{} }, once)
		answer(f, "nil", func(context.Context, runtime.Event[OrderPlaced]) (string, error) { return "", (*nilError)(nil) }, once)
		f.MustStart()
		began := time.Now()
		_, err := f.request()
		var failed *ask.AllFailedError
		if !errors.As(err, &failed) || len(failed.Failed) != 4 || since(began) != time.Second {
			t.Fatalf("the error is %v after %v", err, since(began))
		}
		for _, want := range []string{"the desk is on fire", "did not finish within 1s", "panics in", "nil pointer"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error %v does not say %q", err, want)
			}
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error %v does not match the timeout's", err)
		}
	})
}

// evilError panics in each of its methods.
type evilError struct{}

func (evilError) Error() string { panic("Error") }
func (evilError) Unwrap() error { panic("Unwrap") }
func (evilError) Is(error) bool { panic("Is") }
func (evilError) As(any) bool   { panic("As") }

type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

func (env *Env) TestWhatSteersComesBeforeHavingNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		answer(f, "permanent", refuses(ask.ErrNoAnswer))
		answer(f, "asks", func(ctx context.Context, _ runtime.Event[OrderPlaced]) (string, error) {
			return "", &ask.NoAnswererError{EventType: "order.paid"} // of a request of its own
		}, runtime.WithRetry(retry.MaxAttempts(1)))
		answer(f, "discards", func(ctx context.Context, _ runtime.Event[OrderPlaced]) (string, error) {
			return "", runtime.Discard("not ours")
		})
		f.MustStart()
		var failed *ask.AllFailedError
		if _, err := f.request(); !errors.As(err, &failed) || len(failed.Failed) != 2 {
			t.Errorf("the error is %v", err)
		}
		if got, want := f.states(), "asks dead max_attempts, discards discarded not ours, permanent dead permanent"; got != want {
			t.Errorf("the deliveries are %s, want %s", got, want)
		}
	})
}

func (env *Env) TestARequestWhoseDeliveryIsDiscardedByHandEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		answer(f, "desk", func(context.Context, runtime.Event[OrderPlaced]) (string, error) {
			return "", runtime.RetryAfter(time.Hour, ErrBoom)
		})
		f.MustStart()
		errs := make(chan error, 1)
		go func() {
			_, err := f.request()
			errs <- err
		}()
		time.Sleep(time.Second)
		file, err := env.OpenFile(t.Context(), f.Path)
		Must(t, err)
		defer file.Close()
		events, _, err := file.Events(t.Context(), event.Filter{}, event.Page{})
		Must(t, err)
		_, err = file.DiscardEvent(t.Context(), events[0].ID, "desk", "by hand")
		Must(t, err)
		began := time.Now()
		if err := <-errs; !errors.Is(err, ask.ErrNoAnswer) || since(began) > time.Second {
			t.Errorf("the error is %v after %v", err, since(began))
		}
	})
}

func (env *Env) TestARequestEndsWhenItsAnswererIsUnsubscribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		s := answer(f, "paused", says("never", 0))
		f.MustStart()
		Must(t, f.PauseSubscription(t.Context(), s.Name(), ""))
		errs := make(chan error, 1)
		go func() {
			_, err := f.request()
			errs <- err
		}()
		time.Sleep(time.Second)
		Must(t, s.Unsubscribe(t.Context()))
		var failed *ask.AnswerError
		if err := <-errs; !errors.As(err, &failed) || failed.Subscription != "paused" {
			t.Errorf("the error is %v", err)
		}
	})
}

func (env *Env) TestManyRequestsGetTheirOwnAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		for i := range 3 {
			answer(f, fmt.Sprint("desk-", i), func(ctx context.Context, e runtime.Event[OrderPlaced]) (int, error) {
				return says(e.Payload.Number, time.Duration((e.Payload.Number*7+i*5)%11)*time.Millisecond)(ctx, e)
			}, runtime.WithConcurrency(8))
		}
		f.MustStart()
		errs := make(chan error, 200)
		for n := range cap(errs) {
			go func() {
				got, err := runtime.Request[int](t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: fmt.Sprint(n % 20), Number: n})
				if err == nil && got != n {
					err = fmt.Errorf("request %d got the answer %d", n, got)
				}
				errs <- err
			}()
		}
		for range cap(errs) {
			Must(t, <-errs)
		}
		f.Idle()
		stats := f.Stats()
		for _, s := range stats.Subscriptions {
			if s.Handled+s.Discarded != uint64(cap(errs)) || s.Dead > 0 || s.Failed > 0 {
				t.Errorf("%s: %+v", s.Name, s.Counts)
			}
		}
	})
}

func (env *Env) TestAnAnsweredEventThatIsReplayedIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var calls atomic.Int32
		answer(f, "desk", func(context.Context, runtime.Event[OrderPlaced]) (string, error) {
			calls.Add(1)
			return "yes", nil
		})
		f.MustStart()
		_, err := f.request()
		Must(t, err)
		f.Idle()
		file, err := env.OpenFile(t.Context(), f.Path)
		Must(t, err)
		defer file.Close()
		_, err = file.Replay(t.Context(), "desk", inspect.Selection{})
		Must(t, err)
		time.Sleep(time.Second)
		f.Idle()
		if calls.Load() != 2 {
			t.Errorf("the handler was called %d times, want 2", calls.Load())
		}
	})
}

func (env *Env) TestAnAnswerThatIsNotValidIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		once := runtime.WithRetry(retry.MaxAttempts(1))
		answer(f, "invalid", func(context.Context, runtime.Event[OrderPlaced]) (OrderPlaced, error) {
			return OrderPlaced{OrderID: "\xff"}, nil
		}, once)
		f.MustStart()
		_, err := runtime.Request[OrderPlaced](t.Context(), f.Bus, PlacedType, OrderPlaced{})
		var invalid *ask.InvalidAnswerError
		var failed *ask.AllFailedError
		if !errors.As(err, &failed) || !errors.As(err, &invalid) || invalid.EventType != "order.placed" {
			t.Errorf("the error is %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		answer(f, "nil", func(context.Context, runtime.Event[OrderPlaced]) (*OrderPlaced, error) { return nil, nil })
		f.MustStart()
		if got, err := runtime.Request[*OrderPlaced](t.Context(), f.Bus, PlacedType, OrderPlaced{}); got != nil || err != nil {
			t.Errorf("the answer is %v, the error %v", got, err)
		}
	})
}

// touchy is an answer whose Validate method does what it says.
type touchy struct{ does string }

func (a *touchy) Validate() error {
	switch a.does {
	case "panic":
		panic(unprintable{})
	case "return an error that panics":
		return evilError{}
	}
	return nil
}

func (env *Env) TestAnAnswerWhoseValidatePanicsIsAFailure(t *testing.T) {
	for does, want := range map[string]string{
		"panic":                       "whose methods panic",
		"return an error that panics": "is not valid",
	} {
		synctest.Test(t, func(t *testing.T) {
			f := env.Open(t)
			answer(f, "desk", func(context.Context, runtime.Event[OrderPlaced]) (*touchy, error) {
				return &touchy{does}, nil
			}, runtime.WithRetry(retry.MaxAttempts(1)))
			f.MustStart()
			_, err := runtime.Request[*touchy](t.Context(), f.Bus, PlacedType, OrderPlaced{})
			var failed *ask.AllFailedError
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), want) || errors.Is(err, ErrBoom) {
				t.Errorf("%s: the error is %v", does, err)
			}
			if got, want := f.states(), "desk dead max_attempts"; got != want {
				t.Errorf("%s: the deliveries are %s, want %s", does, got, want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		answer(f, "desk", func(context.Context, runtime.Event[OrderPlaced]) (runtime.Payload, error) {
			return (*touchy)(nil), nil
		})
		f.MustStart()
		got, err := runtime.Request[runtime.Payload](t.Context(), f.Bus, PlacedType, OrderPlaced{})
		if got != runtime.Payload((*touchy)(nil)) || err != nil {
			t.Errorf("the answer is %v, the error %v, want a nil pointer in an interface", got, err)
		}
	})
}
