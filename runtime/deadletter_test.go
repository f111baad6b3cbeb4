package runtime_test

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

func TestADeadLetterIsHandedToItsSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("failing", func(context.Context, runtime.Event[orderPlaced]) error { return errBoom }, runtime.WithRetry(retry.MaxAttempts(2)))
		f.handle("fine", func(context.Context, runtime.Event[orderPlaced]) error { return nil })
		var letters journal[runtime.Event[runtime.DeadLetter[orderPlaced]]]
		_, err := runtime.SubscribeDead(f.Bus, placedType, "mourner", func(_ context.Context, e runtime.Event[runtime.DeadLetter[orderPlaced]]) error {
			letters.add(e)
			return nil
		})
		must(t, err)
		var everything journal[string]
		_, err = runtime.SubscribePattern(f.Bus, "*", "everything", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			everything.add(e.Type)
			return nil
		})
		must(t, err)
		f.start()
		receipt, err := runtime.Publish(t.Context(), f.Bus, placedType, orderPlaced{OrderID: "A", Number: 7}, runtime.WithCorrelationID("c-1"))
		must(t, err)
		f.idle()
		got := letters.all()
		if len(got) != 1 {
			t.Fatalf("got %d letters, want 1", len(got))
		}
		l := got[0].Payload
		if l.Event.ID != receipt.ID || l.Event.Payload.Number != 7 || l.Event.Subscription != "failing" || l.Event.Attempt != 2 ||
			l.Reason != "max_attempts" || l.Kind != "error" || l.LastError != "boom" || l.Undecodable != nil || l.DeadAt.IsZero() ||
			got[0].CorrelationID != "c-1" || l.Event.CorrelationID != "c-1" || got[0].Subscription != "mourner" {
			t.Errorf("the letter is %+v", l)
		}
		if got := everything.all(); !slices.Equal(got, []string{"order.placed"}) {
			t.Errorf("a subscription to everything saw %q", got)
		}
		if n := len(f.peek().events()); n != 1 {
			t.Errorf("there are %d events beside those of the bus itself, want 1", n)
		}
		letter(t, f.path) // which is still there
	})
}

func TestWithoutASubscriptionNothingIsStoredForADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("failing", func(context.Context, runtime.Event[orderPlaced]) error { return runtime.Permanent(errBoom) })
		f.start()
		f.publish(1)
		f.idle()
		if n := f.peek().stored(); n != 1 {
			t.Errorf("%d events are stored", n)
		}
	})
}

func TestDeadLettersThatNobodyHandlesAtTheMomentWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		mourn := func(f *fixture, letters *journal[int]) {
			_, err := runtime.SubscribeDead(f.Bus, placedType, "mourner", func(_ context.Context, e runtime.Event[runtime.DeadLetter[orderPlaced]]) error {
				letters.add(e.Payload.Event.Payload.Number)
				return nil
			})
			must(t, err)
		}
		var none, letters journal[int]
		mourn(f, &none)
		f.stop()
		f = reopen(t, f.path)
		f.handle("failing", func(context.Context, runtime.Event[orderPlaced]) error { return runtime.Permanent(errBoom) })
		f.start()
		f.publish(1, 2)
		f.idle()
		f.stop()
		f = reopen(t, f.path)
		mourn(f, &letters)
		f.start()
		f.idle()
		if got := letters.all(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("got %v, want both", got)
		}
	})
}

// The recursion guard: what a subscription to dead letters buries is announced
// to nobody, itself included.
func TestADeadLetterOfADeadLetterIsNotAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("failing", func(context.Context, runtime.Event[orderPlaced]) error { return runtime.Permanent(errBoom) })
		var calls atomic.Int32
		_, err := runtime.SubscribeDead(f.Bus, placedType, "mourner", func(context.Context, runtime.Event[runtime.DeadLetter[orderPlaced]]) error {
			calls.Add(1)
			return runtime.Permanent(errors.New("I cannot bear it"))
		})
		must(t, err)
		f.start()
		f.publish(1)
		f.idle()
		time.Sleep(time.Hour)
		if calls.Load() != 1 {
			t.Errorf("it was called %d times", calls.Load())
		}
		if n := len(dead(t, f.path)); n != 2 {
			t.Errorf("there are %d dead letters, want both", n)
		}
	})
}

func TestAnUndecodableDeadLetterKeepsItsBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.publishRaw(placedType, `{"number": "many"}`)
		f.handle("typed", func(context.Context, runtime.Event[orderPlaced]) error { return nil }, runtime.FromBeginning())
		var letters journal[runtime.DeadLetter[orderPlaced]]
		_, err := runtime.SubscribeDead(f.Bus, placedType, "mourner", func(_ context.Context, e runtime.Event[runtime.DeadLetter[orderPlaced]]) error {
			letters.add(e.Payload)
			return nil
		})
		must(t, err)
		f.stop()
		f = reopen(t, f.path)
		f.handle("typed", func(context.Context, runtime.Event[orderPlaced]) error { return nil })
		_, err = runtime.SubscribeDead(f.Bus, placedType, "mourner", func(_ context.Context, e runtime.Event[runtime.DeadLetter[orderPlaced]]) error {
			letters.add(e.Payload)
			return nil
		})
		must(t, err)
		f.start()
		f.idle()
		got := letters.all()
		if len(got) != 1 || got[0].Reason != "decode" || got[0].Undecodable == nil || string(got[0].Raw) != `{"number": "many"}` {
			t.Errorf("the letters are %+v", got)
		}
	})
}
