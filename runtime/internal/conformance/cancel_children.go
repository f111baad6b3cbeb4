package conformance

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
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
			if d := outcome.Deliveries; len(d) != 1 || !d[0].Discarded || d[0].Reason != runtime.ErrAnswered.Error() {
				t.Errorf("the outcome is %+v", outcome)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
		if all := called.All(); len(all) != 1 || !errors.Is(cause, runtime.ErrAnswered) {
			t.Errorf("called for %v, and the cause is %v", all, cause)
		}
	})
}
