package conformance

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// Who is in line for a limit, and what is not the fault of the limit.

// Its handler has waited for an event as long as it could. The guest was in line for another delivery.
func (env *Env) TestAGuestThatLeavesKeepsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
		mail, err := f.Limiter("mail")
		Must(t, err)
		taken, freed := make(chan struct{}), make(chan struct{})
		go mail.DoFor(context.Background(), "x", func(context.Context) error { close(taken); <-freed; return nil })
		<-taken
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.OrderID == "x" {
				return nil
			}
			receipt, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: "a"}, runtime.Immediately())
			if err != nil {
				return err
			}
			limited, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			receipt.Wait(limited)
			time.Sleep(time.Hour)
			return nil
		}, limitedBy("mail by order_id"), runtime.WithTimeout(24*time.Hour))
		_, err = runtime.Subscribe(f.Bus, PaidType, "slow", func(context.Context, runtime.Event[OrderPaid]) error { time.Sleep(2 * time.Hour); return nil },
			runtime.WithTimeout(24*time.Hour))
		Must(t, err)
		var began Journal[time.Time]
		f.handleUsers("three", func(context.Context, runtime.Event[UserCreated]) error { began.Add(time.Now()); return nil }, limitedBy("mail by name"))
		f.MustStart()
		for _, id := range []string{"x", "a"} {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: id, Number: 1})
			Must(t, err)
		}
		time.Sleep(time.Minute)
		f.users("x")
		time.Sleep(time.Minute)
		close(freed)
		room := time.Now()
		f.Idle()
		if at := began.All(); len(at) != 1 || at[0].Sub(room) > time.Second {
			t.Errorf("there was room at %v, the other subscription began at %v", room, at)
		}
	})
}

// It cannot be dead-lettered before there is a worker. Until then nothing is to be done.
func (env *Env) TestADeliveryExpiresInALineWhoseSubscriptionIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
		mail, err := f.Limiter("mail")
		Must(t, err)
		taken := make(chan struct{})
		go mail.DoFor(context.Background(), "x", func(context.Context) error { close(taken); time.Sleep(10 * time.Hour); return nil })
		<-taken
		var handled Journal[string]
		f.handleUsers("one", func(_ context.Context, e runtime.Event[UserCreated]) error {
			time.Sleep(3 * time.Hour)
			handled.Add(e.Payload.Name)
			return nil
		}, limitedBy("mail by name"), runtime.WithTimeout(5*time.Hour), runtime.WithExpiresAfter(4*time.Hour))
		f.MustStart()
		f.users("x") // expires while b is at work
		time.Sleep(3 * time.Hour)
		f.users("b")
		f.Idle()
		if got := handled.All(); !slices.Equal(got, []string{"b"}) {
			t.Errorf("handled are %v, want b", got)
		}
		if l := env.Letter(t, f.Path); l.Reason != "expired" {
			t.Errorf("the dead letter is %+v", l)
		}
		time.Sleep(10 * time.Hour)
	})
}

// There is room in the limit that the handler wants back, but its key is in use. Its worker sleeps
// until that is free: in virtual time a worker that does not would stop the clock.
func (env *Env) TestAHandlerComesBackToItsLimitWhenItsKeyIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
		mail, err := f.Limiter("mail")
		Must(t, err)
		var back Journal[time.Duration]
		began := time.Now()
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 2 { // within the lent key
				time.Sleep(2 * time.Minute)
				return nil
			}
			return mail.Do(ctx, func(ctx context.Context) error {
				r, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: "A"}, runtime.Immediately())
				if err == nil {
					_, err = r.Wait(ctx)
				}
				back.Add(time.Since(began).Round(time.Second))
				return err
			})
		}, runtime.WithConcurrency(2), runtime.WithTimeout(time.Hour))
		_, err = runtime.Subscribe(f.Bus, PaidType, "two", func(context.Context, runtime.Event[OrderPaid]) error { time.Sleep(10 * time.Second); return nil })
		Must(t, err)
		f.handleUsers("asks", func(ctx context.Context, _ runtime.Event[UserCreated]) error {
			r, err := runtime.Publish(ctx, f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 2}, runtime.Immediately())
			if err == nil {
				_, err = r.Wait(ctx)
			}
			return err
		}, runtime.WithTimeout(time.Hour))
		f.MustStart()
		_, err = runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: 1})
		Must(t, err)
		time.Sleep(time.Second)
		go mail.Do(context.Background(), func(context.Context) error { time.Sleep(time.Minute); return nil }) // while it is lent
		time.Sleep(19 * time.Second)
		f.users("a") // its delivery begins at 20s, and ends at 2m20s
		f.Idle()
		back.wants(t, 2*time.Minute+20*time.Second)
	})
}
