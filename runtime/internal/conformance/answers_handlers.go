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
	"github.com/busgen/busgen/runtime/retry"
)

// asker subscribes to order.paid with a handler that asks for a string.
func (f *Fixture) asker(handler func(ctx context.Context, ask func() (string, error)) error, opts ...runtime.SubscribeOption) {
	f.T.Helper()
	_, err := runtime.Subscribe(f.Bus, PaidType, "asker", func(ctx context.Context, e runtime.Event[OrderPaid]) error {
		return handler(ctx, func() (string, error) {
			return runtime.Request[string](ctx, f.Bus, PlacedType, OrderPlaced{OrderID: e.Payload.OrderID})
		})
	}, opts...)
	Must(f.T, err)
}

func (env *Env) TestAHandlerMayAskItsOwnSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		answer(f, "sum", func(ctx context.Context, e runtime.Event[OrderPlaced]) (int, error) {
			n := e.Payload.Number
			if n == 0 {
				return 0, nil
			}
			below, err := runtime.Request[int](ctx, f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: n - 1})
			return below + n, err
		})
		f.MustStart()
		if got, err := runtime.Request[int](t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 20}); got != 210 || err != nil {
			t.Errorf("the answer is %d with error %v", got, err)
		}
		if states := f.states(); strings.Count(states, "sum done") != 21 {
			t.Errorf("the deliveries are %s", states)
		}
	})
}

func (env *Env) TestLosersOfARequestInAHandlerAreStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var took time.Duration
		var got string
		f.asker(func(_ context.Context, ask func() (string, error)) (err error) {
			began := time.Now()
			got, err = ask()
			took = since(began)
			return err
		})
		answer(f, "slow", says("slow", time.Second))
		answer(f, "fast", says("fast", 10*time.Millisecond))
		f.MustStart()
		_, err := runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{OrderID: "A"})
		Must(t, err)
		if got, want := f.states(), "asker done, fast done, slow discarded answered by fast"; got != want {
			t.Errorf("the deliveries are %s, want %s", got, want)
		}
		if got != "fast" || took != 10*time.Millisecond {
			t.Errorf("the answer is %q after %v", got, took)
		}
	})
}

func (env *Env) TestAHandlerThatFailsAfterAnAnswerAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var attempts, asked atomic.Int32
		f.asker(func(_ context.Context, ask func() (string, error)) error {
			_, err := ask()
			if attempts.Add(1) == 1 {
				err = ErrBoom
			}
			return err
		})
		answer(f, "desk", func(_ context.Context, e runtime.Event[OrderPlaced]) (string, error) {
			return fmt.Sprint(asked.Add(1)), nil
		})
		f.MustStart()
		_, err := runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{OrderID: "A"})
		Must(t, err)
		if got, want := f.states(), "asker done, desk done, desk done"; got != want || asked.Load() != 2 {
			t.Errorf("the deliveries are %s after %d questions, want %s", got, asked.Load(), want)
		}
	})
}

func (env *Env) TestAHandlerWhoseTimeIsUpStopsAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var took time.Duration
		var failed error
		f.asker(func(_ context.Context, ask func() (string, error)) error {
			began := time.Now()
			_, failed = ask()
			took = since(began)
			return failed
		}, runtime.WithTimeout(time.Second), runtime.WithRetry(retry.MaxAttempts(1)))
		answer(f, "desk", says("late", 10*time.Second))
		f.MustStart()
		_, err := runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{OrderID: "A"})
		Must(t, err)
		if got, want := f.states(), "asker dead max_attempts, desk done"; got != want {
			t.Errorf("the deliveries are %s, want %s", got, want)
		}
		if !errors.Is(failed, context.DeadlineExceeded) || took != time.Second {
			t.Errorf("the error is %v after %v", failed, took)
		}
	})
}

func (env *Env) TestAShutdownEndsTheRequestOfAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		asked := make(chan error, 1)
		f.asker(func(_ context.Context, ask func() (string, error)) error {
			_, err := ask()
			asked <- err
			return err
		})
		answer(f, "desk", says("never", time.Hour), runtime.WithTimeout(2*time.Hour))
		f.MustStart()
		_, err := runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{OrderID: "A"})
		Must(t, err)
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		f.Shutdown(ctx)
		if err := <-asked; !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("the handler gets %v", err)
		}
		for _, d := range f.peek().deliveries() {
			if len(d.Attempts) > 0 {
				t.Errorf("%s has failed: %v", d.Subscription, d.Attempts)
			}
		}
	})
}
