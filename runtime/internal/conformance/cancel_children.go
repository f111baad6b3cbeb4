package conformance

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/ask"
)

// The handler that loses has published an order at once, whose handler runs, and has
// published another one behind it.
func (env *Env) TestTheChildrenOfALoserAreCancelledAndInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var first, second *runtime.Receipt
		var cause error
		_, err := runtime.SubscribeAnswer(f.Bus, UserType, "loser", func(ctx context.Context, _ runtime.Event[UserCreated]) (_ int, err error) {
			publish := func(number int) *runtime.Receipt {
				r, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: number}, runtime.Immediately())
				Must(t, err)
				return r
			}
			first, second = publish(1), publish(2)
			<-ctx.Done()
			return 0, ctx.Err()
		})
		Must(t, err)
		_, err = runtime.SubscribeAnswer(f.Bus, UserType, "winner", func(context.Context, runtime.Event[UserCreated]) (int, error) {
			time.Sleep(10 * time.Millisecond)
			return 7, nil
		})
		Must(t, err)
		called := &Journal[int]{}
		f.Handle("child", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			called.Add(e.Payload.Number)
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Second):
			}
			cause = context.Cause(ctx)
			return ctx.Err()
		})
		f.MustStart()
		began := time.Now()
		answer, err := runtime.Request[int](t.Context(), f.Bus, UserType, UserCreated{Name: "Ada"})
		if err != nil || answer != 7 {
			t.Fatalf("the answer is %v, %v", answer, err)
		}
		for _, r := range []*runtime.Receipt{first, second} {
			outcome, err := r.Wait(t.Context())
			Must(t, err)
			if d := outcome.Deliveries; len(d) != 1 || !d[0].Discarded || d[0].Reason != ask.ErrAnswered.Error() {
				t.Errorf("the outcome is %+v", outcome)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
		if all := called.All(); len(all) != 1 || !errors.Is(cause, ask.ErrAnswered) {
			t.Errorf("called for %v, and the cause is %v", all, cause)
		}
	})
}

// The loser publishes two orders at once, with keys: the handler of one runs, and the other
// one waits. The winner publishes the same, and relies on them.
func (env *Env) TestWhatALoserHasPublishedWithADedupeKeyIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		publish := func(ctx context.Context) (duplicates int) {
			for number, key := range []string{"zero", "one"} {
				r, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{Number: number}, runtime.Immediately(), runtime.WithDedupeKey(key))
				Must(t, err)
				if r.Duplicate {
					duplicates++
				}
			}
			return duplicates
		}
		_, err := runtime.SubscribeAnswer(f.Bus, UserType, "loser", func(ctx context.Context, _ runtime.Event[UserCreated]) (int, error) {
			publish(ctx)
			<-ctx.Done()
			return 0, ctx.Err()
		})
		Must(t, err)
		_, err = runtime.SubscribeAnswer(f.Bus, UserType, "winner", func(ctx context.Context, _ runtime.Event[UserCreated]) (int, error) {
			time.Sleep(10 * time.Millisecond)
			return publish(ctx), nil
		})
		Must(t, err)
		handled := &Journal[int]{}
		f.Handle("child", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
			}
			handled.Add(e.Payload.Number)
			return nil
		})
		f.MustStart()
		duplicates, err := runtime.Request[int](t.Context(), f.Bus, UserType, UserCreated{Name: "Ada"})
		if err != nil || duplicates != 2 {
			t.Fatalf("%d events of the winner are duplicates, and the error is %v", duplicates, err)
		}
		time.Sleep(10 * time.Second)
		if all := handled.All(); len(all) != 2 {
			t.Errorf("only %v are handled", all)
		}
	})
}

// The first attempt publishes an order at once, and ignores that its time is up. The second
// attempt answers while the handler of the first one still runs.
func (env *Env) TestWhatAnEarlierAttemptOfTheWinnerHasPublishedIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		_, err := runtime.SubscribeAnswer(f.Bus, UserType, "winner", func(ctx context.Context, e runtime.Event[UserCreated]) (int, error) {
			if e.Attempt == 1 {
				_, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{}, runtime.Immediately())
				Must(t, err)
				time.Sleep(time.Minute)
			}
			return e.Attempt, nil
		}, runtime.WithTimeout(time.Second))
		Must(t, err)
		ended := &Journal[error]{}
		f.Handle("child", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			select {
			case <-ctx.Done():
			case <-time.After(30 * time.Second):
			}
			ended.Add(ctx.Err())
			return ctx.Err()
		}, runtime.WithTimeout(time.Hour))
		f.MustStart()
		answer, err := runtime.Request[int](t.Context(), f.Bus, UserType, UserCreated{Name: "Ada"})
		if err != nil || answer != 2 {
			t.Fatalf("the answer is of attempt %d, and the error is %v", answer, err)
		}
		time.Sleep(2 * time.Minute)
		if all := ended.All(); len(all) != 1 || all[0] != nil {
			t.Errorf("the handler of the order has returned %v", all)
		}
	})
}
