package conformance

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestADeadLetterIsHandedToItsSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("failing", func(context.Context, runtime.Event[OrderPlaced]) error { return ErrBoom }, runtime.WithRetry(retry.MaxAttempts(2)))
		f.Handle("fine", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		var letters Journal[runtime.Event[runtime.DeadLetter[OrderPlaced]]]
		_, err := runtime.SubscribeDead(f.Bus, PlacedType, "mourner", func(_ context.Context, e runtime.Event[runtime.DeadLetter[OrderPlaced]]) error {
			letters.Add(e)
			return nil
		})
		Must(t, err)
		var everything Journal[string]
		_, err = runtime.SubscribePattern(f.Bus, "*", "everything", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			everything.Add(e.Type)
			return nil
		})
		Must(t, err)
		f.MustStart()
		receipt, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 7}, runtime.WithCorrelationID("c-1"))
		Must(t, err)
		f.Idle()
		got := letters.All()
		if len(got) != 1 {
			t.Fatalf("got %d letters, want 1", len(got))
		}
		l := got[0].Payload
		if l.Event.ID != receipt.ID || l.Event.Payload.Number != 7 || l.Event.Subscription != "failing" || l.Event.Attempt != 2 ||
			l.Reason != "max_attempts" || l.Kind != "error" || l.LastError != "boom" || l.Undecodable != nil || l.DeadAt.IsZero() ||
			got[0].CorrelationID != "c-1" || l.Event.CorrelationID != "c-1" || got[0].Subscription != "mourner" {
			t.Errorf("the letter is %+v", l)
		}
		if got := everything.All(); !slices.Equal(got, []string{"order.placed"}) {
			t.Errorf("a subscription to everything saw %q", got)
		}
		if n := len(f.peek().events()); n != 1 {
			t.Errorf("there are %d events beside those of the bus itself, want 1", n)
		}
		env.Letter(t, f.Path) // which is still there
	})
}

func (env *Env) TestWithoutASubscriptionNothingIsStoredForADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("failing", func(context.Context, runtime.Event[OrderPlaced]) error { return runtime.Permanent(ErrBoom) })
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if n := f.peek().stored(); n != 1 {
			t.Errorf("%d events are stored", n)
		}
	})
}

func (env *Env) TestDeadLetterNoticesWaitForTheirSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		mourn := func(f *Fixture, letters *Journal[int]) {
			_, err := runtime.SubscribeDead(f.Bus, PlacedType, "mourner", func(_ context.Context, e runtime.Event[runtime.DeadLetter[OrderPlaced]]) error {
				letters.Add(e.Payload.Event.Payload.Number)
				return nil
			})
			Must(t, err)
		}
		var none, letters Journal[int]
		mourn(f, &none)
		f.Stop()
		f = env.Reopen(t, f.Path)
		f.Handle("failing", func(context.Context, runtime.Event[OrderPlaced]) error { return runtime.Permanent(ErrBoom) })
		f.MustStart()
		f.Publish(1, 2)
		f.Idle()
		f.Stop()
		f = env.Reopen(t, f.Path)
		mourn(f, &letters)
		f.MustStart()
		f.Idle()
		if got := letters.All(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("got %v, want both", got)
		}
	})
}

// If a handler of dead-letter notices fails, its own dead letter makes no notice. So
// there is no recursion.
func (env *Env) TestADeadLetterOfADeadLetterIsNotAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("failing", func(context.Context, runtime.Event[OrderPlaced]) error { return runtime.Permanent(ErrBoom) })
		var calls atomic.Int32
		_, err := runtime.SubscribeDead(f.Bus, PlacedType, "mourner", func(context.Context, runtime.Event[runtime.DeadLetter[OrderPlaced]]) error {
			calls.Add(1)
			return runtime.Permanent(errors.New("I cannot bear it"))
		})
		Must(t, err)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		time.Sleep(time.Hour)
		if calls.Load() != 1 {
			t.Errorf("it was called %d times", calls.Load())
		}
		if n := len(env.Dead(t, f.Path)); n != 2 {
			t.Errorf("there are %d dead letters, want both", n)
		}
	})
}

func (env *Env) TestAnUndecodableDeadLetterKeepsItsBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.PublishRaw(PlacedType, `{"number": "many"}`)
		f.Handle("typed", func(context.Context, runtime.Event[OrderPlaced]) error { return nil }, runtime.FromBeginning())
		var letters Journal[runtime.DeadLetter[OrderPlaced]]
		_, err := runtime.SubscribeDead(f.Bus, PlacedType, "mourner", func(_ context.Context, e runtime.Event[runtime.DeadLetter[OrderPlaced]]) error {
			letters.Add(e.Payload)
			return nil
		})
		Must(t, err)
		f.Stop()
		f = env.Reopen(t, f.Path)
		f.Handle("typed", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		_, err = runtime.SubscribeDead(f.Bus, PlacedType, "mourner", func(_ context.Context, e runtime.Event[runtime.DeadLetter[OrderPlaced]]) error {
			letters.Add(e.Payload)
			return nil
		})
		Must(t, err)
		f.MustStart()
		f.Idle()
		got := letters.All()
		if len(got) != 1 || got[0].Reason != "decode" || got[0].Undecodable == nil || string(got[0].Raw) != `{"number": "many"}` {
			t.Errorf("the letters are %+v", got)
		}
	})
}
