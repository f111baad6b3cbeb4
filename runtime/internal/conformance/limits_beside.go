package conformance

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// Handlers of which one goroutine waits for an event while another one calls Limiter.Do.

// waitingHandler handles user.created: one of its goroutines waits for an order.paid, and the handler does
// what it is told a second later.
func (f *Fixture) waitingHandler(then func(ctx context.Context) error) {
	f.handleUsers("waits", func(ctx context.Context, e runtime.Event[UserCreated]) error {
		first := make(chan error)
		go func() {
			r, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: e.Payload.Name}, runtime.Immediately())
			if err == nil {
				_, err = r.Wait(ctx)
			}
			first <- err
		}()
		time.Sleep(time.Second)
		if err := then(ctx); err != nil {
			return err
		}
		return <-first
	}, limitedBy("mail"), runtime.WithTimeout(time.Hour))
}

// The handler of the delivery has lent the limit, and the one of the event that it waits for has it.
func (env *Env) TestALimiterDoesNotShareWhatItsHandlerHasLent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
		mail, err := f.Limiter("mail")
		Must(t, err)
		var g gauge
		var did Journal[time.Duration]
		start := time.Now()
		f.waitingHandler(func(ctx context.Context) error {
			return mail.Do(ctx, func(ctx context.Context) error {
				did.Add(time.Since(start).Round(time.Second))
				g.work()
				// It has the room now: so has a call within.
				return mail.Do(ctx, func(context.Context) error { return nil })
			})
		})
		_, err = runtime.Subscribe(f.Bus, PaidType, "awaited", func(context.Context, runtime.Event[OrderPaid]) error {
			for range 5 {
				g.work()
			}
			return nil
		}, limitedBy("mail"))
		Must(t, err)
		f.users("a")
		f.MustStart()
		f.Idle()
		if all := did.All(); g.most.Load() != 1 || len(all) != 1 || all[0] != 5*time.Second {
			t.Errorf("%d were at work in the limit at once, and Do began at %v, want 1, and 5s", g.most.Load(), all)
		}
		f.hasRoom(t, "mail", "", 1)
	})
}

// What is lent is lent again when the function has returned, because the handler still waits.
func (env *Env) TestALimiterGivesBackWhatItsHandlerHasLent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
		mail, err := f.Limiter("mail")
		Must(t, err)
		var order Journal[string]
		f.waitingHandler(func(ctx context.Context) error {
			return mail.Do(ctx, func(context.Context) error {
				time.Sleep(4 * time.Second)
				order.Add("Do ends")
				return nil
			})
		})
		_, err = runtime.Subscribe(f.Bus, PaidType, "awaited", func(context.Context, runtime.Event[OrderPaid]) error {
			time.Sleep(time.Minute)
			order.Add("the awaited one ends")
			return nil
		}, runtime.WithTimeout(time.Hour))
		Must(t, err)
		f.users("a")
		f.MustStart()
		time.Sleep(2 * time.Second)
		Must(t, mail.Do(t.Context(), func(context.Context) error { order.Add("another has it"); return nil }))
		f.Idle()
		order.wants(t, "Do ends", "another has it", "the awaited one ends")
		f.hasRoom(t, "mail", "", 1)
	})
}

// Waiting for what the handler has lent ends as other waits do, and the handler comes back.
func (env *Env) TestALimiterThatWaitsForWhatItsHandlerHasLentGivesUpAsOthersDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
		mail, err := f.Limiter("mail")
		Must(t, err)
		var got Journal[string]
		start := time.Now()
		f.waitingHandler(func(ctx context.Context) error {
			limited, cancel := context.WithTimeoutCause(ctx, 4*time.Second, ErrBoom)
			defer cancel()
			err := mail.Do(limited, func(context.Context) error { got.Add("called"); return nil })
			got.Add(fmt.Sprint(time.Since(start).Round(time.Second), " ", err))
			return nil
		})
		_, err = runtime.Subscribe(f.Bus, PaidType, "awaited", func(context.Context, runtime.Event[OrderPaid]) error {
			time.Sleep(time.Minute)
			return nil
		}, runtime.WithTimeout(time.Hour), runtime.WithLimits(declare.LimitUse{Limit: "mail"}))
		Must(t, err)
		f.users("a")
		f.MustStart()
		f.Idle()
		got.wants(t, "5s boom")
		f.hasRoom(t, "mail", "", 1)
	})
}
