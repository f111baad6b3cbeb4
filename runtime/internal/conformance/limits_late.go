package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// A limit that had no room for as long as its Wait says nothing about handlers.

// occupy takes a place of a limit until free is called, or the test ends.
func (f *Fixture) occupy(name, key string) (free func()) {
	f.T.Helper()
	limiter, err := f.Limiter(name)
	Must(f.T, err)
	taken, freed := make(chan struct{}), make(chan struct{})
	go limiter.DoFor(context.Background(), key, func(context.Context) error { close(taken); <-freed; return nil })
	<-taken
	free = sync.OnceFunc(func() { close(freed) })
	f.T.Cleanup(free)
	return free
}

// openLate opens a bus whose limit mail has room for one. Deliveries wait for it for a second.
func (env *Env) openLate(t *testing.T) *Fixture {
	t.Helper()
	return env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1, Wait: time.Second}))
}

func (env *Env) TestALimitWithoutRoomIsNoFailureForBreakers(t *testing.T) {
	opts := func(more ...runtime.SubscribeOption) []runtime.SubscribeOption {
		return append(more, limitedBy("mail"), runtime.WithBreaker(breaker.On(), breaker.MinSamples(1), breaker.OpenFor(time.Hour)),
			runtime.WithRetry(retry.MaxAttempts(5), retry.BaseDelay(time.Second)))
	}
	ok := func(context.Context, runtime.Event[OrderPlaced]) error { return nil }
	for name, subscribe := range map[string]func(f *Fixture){
		"a subscription": func(f *Fixture) { f.Handle("one", ok, opts()...) },
		"a group": func(f *Fixture) {
			f.Handle("first", ok, opts(runtime.InGroup("team"))...)
			f.Handle("second", ok, opts(runtime.InGroup("team"))...)
		},
		"a batch": func(f *Fixture) {
			_, err := runtime.SubscribeBatch(f.Bus, PlacedType, "batch", func(context.Context, []runtime.Event[OrderPlaced]) error { return nil },
				opts()...)
			Must(f.T, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.openLate(t)
				free := f.occupy("mail", "")
				subscribe(f)
				f.MustStart()
				f.Publish(1)
				time.Sleep(4 * time.Second)
				for _, s := range f.Stats().Subscriptions {
					if s.Breaker.State != "closed" || s.Breaker.Samples != 0 {
						t.Errorf("the breaker of %s is %s with %d samples", s.Name, s.Breaker.State, s.Breaker.Samples)
					}
				}
				if n := f.Stats().Subscriptions[0].Failed; n < 2 {
					t.Errorf("%d attempts have failed, want some", n)
				}
				free()
				f.Idle()
				for _, s := range f.Stats().Subscriptions {
					if s.Handled != 1 {
						t.Errorf("%s has handled %d events", s.Name, s.Handled)
					}
				}
			})
		})
	}
}

// The probe of a member is for a call of its handler.
func (env *Env) TestALimitWithoutRoomDoesNotUseUpTheProbeOfAMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openLate(t)
		f.occupy("mail", "late")
		var ran Journal[string]
		began := time.Now()
		f.handleUsers("member", func(_ context.Context, e runtime.Event[UserCreated]) error {
			ran.Add(fmt.Sprintf("%s %v", e.Payload.Name, time.Since(began).Round(time.Second)))
			if e.Payload.Name == "broken" {
				return ErrBoom
			}
			return nil
		}, runtime.InGroup("team"), limitedBy("mail by name"), runtime.WithRetry(retry.MaxAttempts(1)),
			runtime.WithBreaker(breaker.On(), breaker.MinSamples(1), breaker.OpenFor(time.Minute)))
		f.MustStart()
		f.users("broken")
		time.Sleep(61 * time.Second)
		f.users("late") // it would be the probe
		time.Sleep(2 * time.Second)
		f.users("good")
		f.Idle()
		ran.wants(t, "broken 0s", "good 1m3s")
	})
}

// It was the handler that has called.
func (env *Env) TestALimitWithoutRoomThatAHandlerReturnsIsItsFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openLate(t)
		f.occupy("mail", "")
		mail, err := f.Limiter("mail")
		Must(t, err)
		f.Handle("one", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			err := mail.Do(ctx, func(context.Context) error { return nil })
			if _, late := errors.AsType[*runtime.LimitTimeoutError](err); !late {
				t.Errorf("Do returns %v", err)
			}
			return fmt.Errorf("no mail: %w", err)
		}, runtime.WithRetry(retry.MaxAttempts(1)), runtime.WithBreaker(breaker.On(), breaker.MinSamples(1)))
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if got := f.breakers(); got != "one open 1/1" {
			t.Error(got)
		}
	})
}
