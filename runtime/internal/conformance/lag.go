package conformance

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestTheLagHasEverySubscriptionOfTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		left := f.Handle("left", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		Must(t, left.Unsubscribe(t.Context()))
		f.Handle("member", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			switch e.Payload.Number {
			case 1:
				return runtime.Permanent(ErrBoom)
			case 2:
				return ErrBoom
			}
			return nil
		}, runtime.InGroup("team"), runtime.WithRetry(retry.BaseDelay(time.Minute), retry.MaxDelay(time.Hour)))
		f.Handle("busy", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			time.Sleep(20 * time.Second)
			return nil
		})
		f.Handle("resting", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		_, err := runtime.SubscribePattern(f.Bus, "*", "wide", func(context.Context, runtime.Event[runtime.Raw]) error { return nil })
		Must(t, err)
		f.MustStart()
		Must(t, f.PauseSubscription(t.Context(), "resting", ""))
		published := time.Now().UTC()
		f.Publish(1, 2, 3)
		time.Sleep(time.Second)
		delayed := time.Now().UTC()
		_, err = runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 4}, runtime.WithDelay(time.Hour))
		Must(t, err)
		time.Sleep(time.Second)

		got, err := f.Lag(t.Context())
		Must(t, err)
		want := []event.Lag{
			{Subscription: "left", Backlog: 4, Waiting: 1, Oldest: published},
			{Subscription: "team", Here: true, Backlog: 2, Waiting: 2, Dead: 1, Oldest: published},
			{Subscription: "busy", Here: true, Backlog: 4, Running: 1, Waiting: 1, Oldest: published},
			{Subscription: "resting", Here: true, Paused: true, Backlog: 4, Waiting: 1, Oldest: published},
			{Subscription: "wide", Here: true, Backlog: 1, Waiting: 1, Oldest: delayed},
		}
		for i := range want {
			want[i].Pattern = "order.placed"
		}
		want[4].Pattern = "*"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		Must(t, f.PauseTypes(t.Context(), "order.*", ""))
		f.Publish(5)
		time.Sleep(time.Hour) // the delayed event is due
		got, err = f.Lag(t.Context())
		Must(t, err)
		if wide := got[4]; wide.Held != 2 || wide.Waiting != 0 || wide.Backlog != 2 {
			t.Errorf("while their type is paused %d events are held, %d wait and %d are open; want 2, 0 and 2", wide.Held, wide.Waiting, wide.Backlog)
		}
	})
}

func (env *Env) TestTheLagOfABusThatWasShutDownIsAnError(t *testing.T) {
	f := env.Open(t)
	f.Stop()
	if _, err := f.Lag(t.Context()); !errors.Is(err, runtime.ErrShutdown) {
		t.Errorf("the error is %v, want ErrShutdown", err)
	}
}
