package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// unlimited returns a type whose attempts may take as long as they like, and its catalogue.
func unlimited(change func(*declare.Settings)) (*runtime.EventType[OrderPlaced], *runtime.Catalogue) {
	s := Within(0, Exact())
	if change != nil {
		change(&s)
	}
	t := runtime.Define(runtime.Spec[OrderPlaced]{Name: "order.placed", Settings: s})
	return t, runtime.NewCatalogue(t)
}

func (env *Env) TestAnAttemptWithoutATimeoutMayTakeAsLongAsItLikes(t *testing.T) {
	for name, opts := range map[string][]runtime.SubscribeOption{
		"by the catalogue": nil,
		"by an option":     {runtime.WithTimeout(time.Second), runtime.WithoutTimeout()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				placed, catalogue := unlimited(func(s *declare.Settings) {
					if opts != nil {
						s.Timeout = time.Minute
					}
				})
				f := env.ReopenWith(t, env.Target(t), catalogue)
				var ends Journal[error]
				_, err := runtime.Subscribe(f.Bus, placed, "patient", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					if at, ok := ctx.Deadline(); ok {
						t.Errorf("the context has the deadline %v", at)
					}
					select {
					case <-ctx.Done():
					case <-time.After(3 * time.Minute):
					}
					ends.Add(ctx.Err())
					return nil
				}, opts...)
				Must(t, err)
				f.MustStart()
				_, err = runtime.Publish(t.Context(), f.Bus, placed, OrderPlaced{OrderID: "A"})
				Must(t, err)
				f.Idle()
				if got := ends.All(); !slices.Equal(got, []error{nil}) {
					t.Errorf("the contexts of the attempts ended with %v", got)
				}
				warned := f.Log.Level(t, "WARN") // of the first that is slow
				if len(warned) != 1 || warned[0]["msg"] != "a handler is slow" || warned[0]["timeout"] != "off" {
					t.Errorf("the log warns %v", warned)
				}
				encoded, err := json.Marshal(f.Stats().Subscriptions[0].Settings["order.placed"])
				Must(t, err)
				if !strings.Contains(string(encoded), `"timeout":"off"`) {
					t.Errorf("the settings are %s", encoded)
				}
			})
		})
	}
}

func (env *Env) TestAnEventWithoutATimeoutExpiresAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		placed, catalogue := unlimited(func(s *declare.Settings) { s.ExpiresAfter = 2 * time.Minute })
		f := env.ReopenWith(t, env.Target(t), catalogue)
		var causes Journal[string]
		_, err := runtime.Subscribe(f.Bus, placed, "patient", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			<-ctx.Done()
			causes.Add(context.Cause(ctx).Error())
			return nil
		})
		Must(t, err)
		f.MustStart()
		r, err := runtime.Publish(t.Context(), f.Bus, placed, OrderPlaced{OrderID: "A"})
		Must(t, err)
		began := time.Now()
		outcome, err := r.Wait(t.Context())
		Must(t, err)
		if took := time.Since(began).Round(time.Second); took != 2*time.Minute || outcome.Err() == nil {
			t.Errorf("settled after %v: %+v", took, outcome)
		}
		synctest.Wait()
		if got := causes.All(); len(got) != 1 || !strings.Contains(got[0], "expired") {
			t.Errorf("the causes are %q", got)
		}
	})
}

func (env *Env) TestAShutdownEndsAHandlerWithoutATimeout(t *testing.T) {
	for name, deaf := range map[string]bool{"that returns": false, "that ignores its context": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				placed, catalogue := unlimited(nil)
				target := env.Target(t)
				f := env.ReopenWith(t, target, catalogue)
				never := make(chan struct{})
				defer close(never)
				_, err := runtime.Subscribe(f.Bus, placed, "hanging", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
					if deaf {
						<-never
					}
					<-ctx.Done()
					return ctx.Err()
				})
				Must(t, err)
				f.MustStart()
				_, err = runtime.Publish(t.Context(), f.Bus, placed, OrderPlaced{OrderID: "A"})
				Must(t, err)
				time.Sleep(3 * time.Minute)
				began := time.Now()
				if err := f.Shutdown(context.Background()); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the shutdown returns %v", err)
				}
				if took := time.Since(began); took > 32*time.Second {
					t.Errorf("the shutdown took %v", took)
				}
				again := env.ReopenWith(t, target, catalogue)
				var attempts Journal[int]
				_, err = runtime.Subscribe(again.Bus, placed, "hanging", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					attempts.Add(e.MaxAttempts)
					return nil
				})
				Must(t, err)
				again.MustStart()
				again.Idle()
				want := []int{5} // given back, which does not count
				if deaf {
					want = []int{4}
				}
				if got := attempts.All(); !slices.Equal(got, want) {
					t.Errorf("after the restart the last attempt is number %v, want %v", got, want)
				}
			})
		})
	}
}
