package conformance

import (
	"context"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// What ends the wait of a delivery for a limit, other than room.

// occupied opens a bus whose limit mail has room for one, which is taken until free is called. A
// subscription "waiting" needs it. It counts the attempts.
func (env *Env) occupied(t *testing.T, opts ...runtime.SubscribeOption) (f *Fixture, s *runtime.Subscription, attempts *atomic.Int32, free func()) {
	t.Helper()
	f = env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
	attempts = new(atomic.Int32)
	s = f.Handle("waiting", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		if attempts.Add(1); e.Attempt != 1 {
			t.Errorf("the first attempt that is made has the number %d", e.Attempt)
		}
		return nil
	}, append([]runtime.SubscribeOption{limitedBy("mail")}, opts...)...)
	mail, err := f.Limiter("mail")
	Must(t, err)
	taken, freed := make(chan struct{}), make(chan struct{})
	go mail.Do(context.Background(), func(context.Context) error { close(taken); <-freed; return nil })
	<-taken
	f.MustStart()
	return f, s, attempts, func() { close(freed) }
}

func (env *Env) TestADeliveryThatWaitsForALimitCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, attempts, free := env.occupied(t)
		receipts := f.Publish(1, 2)
		time.Sleep(time.Minute)
		if n := f.Stats().Subscriptions[0].Limited; n != 1 { // the other one has the same key
			t.Errorf("%d wait for the limit, want 1", n)
		}
		Must(t, receipts[0].Cancel(t.Context()))
		outcome, err := receipts[0].Wait(t.Context())
		Must(t, err)
		if !outcome.Deliveries[0].Discarded {
			t.Errorf("the outcome is %+v", outcome)
		}
		Must(t, receipts[1].Cancel(t.Context()))
		time.Sleep(time.Second)
		if n := f.Stats().Subscriptions[0].Limited; n != 0 {
			t.Errorf("%d that are cancelled wait for the limit", n)
		}
		f.Publish(3)
		free()
		f.Idle()
		if n := f.Stats().Subscriptions[0].Limited; attempts.Load() != 1 || n != 0 {
			t.Errorf("%d attempts, and %d wait", attempts.Load(), n)
		}
	})
}

func (env *Env) TestADeliveryExpiresWhileItWaitsForALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, attempts, free := env.occupied(t, runtime.WithExpiresAfter(time.Hour))
		began := time.Now()
		f.Publish(1)
		f.Idle()
		if took := time.Since(began).Round(time.Minute); took != time.Hour || attempts.Load() != 0 {
			t.Errorf("after %v and %d attempts", took, attempts.Load())
		}
		if l := env.Letter(t, f.Path); l.Reason != "expired" {
			t.Errorf("the dead letter is %+v", l)
		}
		free()
	})
}

func (env *Env) TestDeliveriesThatWaitForALimitGoBackWhenTheirSubscriptionEnds(t *testing.T) {
	for name, again := range map[string]func(f *Fixture, s *runtime.Subscription) *Fixture{
		"unsubscribed": func(f *Fixture, s *runtime.Subscription) *Fixture {
			Must(f.T, s.Unsubscribe(f.T.Context()))
			return f
		},
		"shut down": func(f *Fixture, _ *runtime.Subscription) *Fixture {
			f.Stop()
			f = env.Reopen(f.T, f.Path)
			f.MustStart()
			return f
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, s, attempts, free := env.occupied(t, runtime.WithConcurrency(3))
				for n := range 300 {
					_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: fmt.Sprint(n % 50)})
					Must(t, err)
				}
				time.Sleep(time.Minute)
				if n := f.Stats().Subscriptions[0].Limited; n != 50 { // the others have the same keys
					t.Errorf("%d wait for the limit, want 50", n)
				}
				f = again(f, s)
				free()
				f.Handle("waiting", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					if attempts.Add(1); e.Attempt != 1 {
						t.Errorf("waiting counts as an attempt: %d", e.Attempt)
					}
					return nil
				})
				f.Idle()
				if attempts.Load() != 300 {
					t.Errorf("%d attempts, want 300", attempts.Load())
				}
			})
		})
	}
}

func (env *Env) TestAPauseTakesTheTurnOfWhatWaitsForALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, attempts, free := env.occupied(t)
		var other atomic.Int32
		f.handleUsers("other", func(context.Context, runtime.Event[UserCreated]) error { other.Add(1); return nil }, limitedBy("mail"))
		f.Publish(1, 2)
		time.Sleep(time.Second)
		f.users("a")
		time.Sleep(time.Second)
		Must(t, f.PauseSubscription(t.Context(), "waiting", ""))
		free()
		time.Sleep(time.Hour)
		if attempts.Load() != 0 || other.Load() != 1 {
			t.Errorf("%d attempts of the paused one, %d of the other", attempts.Load(), other.Load())
		}
		Must(t, f.ResumeSubscription(t.Context(), "waiting"))
		f.Idle()
		if attempts.Load() != 2 {
			t.Errorf("%d attempts after the pause", attempts.Load())
		}
	})
}

func (env *Env) TestADeliveryThatWaitsForALimitIsNoProbeOfABreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "customer", AtOnce: 1}))
		customer, err := f.Limiter("customer")
		Must(t, err)
		freed := make(chan struct{})
		go customer.DoFor(context.Background(), "blocked", func(context.Context) error { <-freed; return nil })
		var broken atomic.Bool
		broken.Store(true)
		f.handleUsers("one", func(context.Context, runtime.Event[UserCreated]) error {
			if broken.Load() {
				return runtime.Permanent(ErrBoom)
			}
			return nil
		}, limitedBy("customer by name"), runtime.WithBreaker(breaker.On(), breaker.MinSamples(2), breaker.OpenFor(time.Minute)))
		f.MustStart()
		f.users("a", "b")
		time.Sleep(time.Second)
		broken.Store(false)
		f.users("blocked", "c") // the first would be the probe
		time.Sleep(2 * time.Minute)
		if s := f.Stats().Subscriptions[0]; s.Handled != 1 || s.Breaker.State != "closed" || s.Limited != 1 {
			t.Errorf("%d handled, the breaker is %s, %d wait", s.Handled, s.Breaker.State, s.Limited)
		}
		close(freed)
		f.Idle()
	})
}

func (env *Env) TestALimitKeyThatCannotBeComputedFailsItsAttemptOnly(t *testing.T) {
	ends := func(p UserCreated) string {
		switch p.Name {
		case "panics":
			var nobody *UserCreated
			return nobody.Name
		case "exits":
			goruntime.Goexit()
		case "hangs":
			time.Sleep(time.Hour)
		}
		return p.Name
	}
	userType := runtime.Define(runtime.Spec[UserCreated]{
		Name: "user.created", Settings: Within(30*time.Second, Exact(retry.MaxAttempts(1))),
		LimitKeys: map[string]func(UserCreated) string{"name": ends},
	})
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(userType).WithLimits(declare.Limit{Name: "mail", AtOnce: 1}))
		var handled atomic.Int32
		_, err := runtime.Subscribe(f.Bus, userType, "one", func(context.Context, runtime.Event[UserCreated]) error { handled.Add(1); return nil },
			limitedBy("mail by name"))
		Must(t, err)
		for _, name := range []string{"a", "panics", "b", "exits", "c", "hangs", "d"} {
			_, err := runtime.Publish(t.Context(), f.Bus, userType, UserCreated{Name: name})
			Must(t, err)
		}
		f.MustStart()
		f.Idle()
		letters := env.Dead(t, f.Path)
		if handled.Load() != 4 || len(letters) != 3 {
			t.Errorf("%d were handled, %d are dead", handled.Load(), len(letters))
		}
		for _, l := range letters {
			if l.Reason != "decode" || len(l.Attempts) != 1 || !strings.Contains(l.Attempts[0].Error, "the limit key") {
				t.Errorf("the dead letter is %s: %+v", l.Reason, l.Attempts)
			}
		}
		time.Sleep(2 * time.Hour)
	})
}

func (env *Env) TestAGroupNeedsTheLimitsOfItsMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}), runtime.WithLimit(declare.Limit{Name: "rate", Rate: 1, Per: time.Minute}))
		mail, err := f.Limiter("mail")
		Must(t, err)
		var ran Journal[string]
		began := time.Now()
		for _, member := range []string{"first", "second"} {
			f.Handle(member, func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				ran.Add(fmt.Sprint(member, e.Payload.Number, " ", time.Since(began).Round(time.Second)))
				return mail.Do(ctx, func(context.Context) error { return nil })
			}, runtime.InGroup("team"), limitedBy(map[string]string{"first": "mail", "second": "rate"}[member]))
		}
		f.Publish(1, 2)
		f.MustStart()
		f.Idle()
		ran.wants(t, "first1 0s", "second1 0s", "first2 1m0s", "second2 1m0s")
	})
}

func (env *Env) TestLimitsAreTunedWhileABusRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "rate", Rate: 1, Per: time.Hour}))
		var handled atomic.Int32
		f.Handle("one", func(context.Context, runtime.Event[OrderPlaced]) error { handled.Add(1); return nil })
		f.MustStart()
		f.Publish(1, 2)
		f.Idle()
		settings := PlacedType.Any().Settings()
		settings.Limits = []declare.LimitUse{{Limit: "rate", By: "order_id"}}
		Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"order.placed": settings}}))
		f.Publish(3, 4)
		time.Sleep(time.Minute)
		if handled.Load() != 3 {
			t.Errorf("%d were handled, want 3", handled.Load())
		}
		settings.Limits = []declare.LimitUse{{Limit: "date"}}
		if err := f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"order.placed": settings}}); err == nil || !strings.Contains(err.Error(), `did you mean "rate"`) {
			t.Errorf("got %v", err)
		}
		f.Idle()
	})
}
