package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// numbersInto returns a handler that notes the numbers of orders.
func numbersInto(seen *Journal[int]) runtime.Handler[OrderPlaced] {
	return func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		seen.Add(e.Payload.Number)
		return nil
	}
}

// within returns when another process has noticed what was written.
func within() {
	time.Sleep(time.Second)
	synctest.Wait()
}

func (env *Env) TestAnEphemeralSubscriptionGetsWhatIsPublishedAfterItWasMadeByWhomeverWithoutStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Publish(1, 2)
		var own, others Journal[int]
		f.Handle("", numbersInto(&own), runtime.Ephemeral())
		beside := env.Reopen(t, f.Path)
		beside.Handle("tail", numbersInto(&others), runtime.Ephemeral())
		f.Publish(3)
		beside.Publish(4)
		within()
		f.MustStart()
		f.Publish(5)
		within()
		for whose, seen := range map[string]*Journal[int]{"the bus": &own, "a bus beside it": &others} {
			if got := seen.All(); !slices.Equal(got, []int{3, 4, 5}) {
				t.Errorf("%s has handled %v, want 3, 4 and 5", whose, got)
			}
		}
	})
}

func (env *Env) TestAnEphemeralSubscriptionDeliversBesideAnOwnerAndWhileItStandsBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.MustStart()
		var seen Journal[int]
		standby := env.Reopen(t, f.Path, runtime.WithStandby())
		standby.Handle("tail", numbersInto(&seen), runtime.Ephemeral())
		started := make(chan error, 1)
		go func() { started <- standby.Start(t.Context()) }()
		synctest.Wait()
		f.Publish(1)
		within()
		f.Stop()
		Must(t, <-started)
		standby.Publish(2)
		within()
		if got := seen.All(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("the standby has handled %v, want 1 and 2, each once", got)
		}
	})
}

func (env *Env) TestAnEphemeralSubscriptionByNamespaceAndByPatternGetsTheTypesThatMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var namespace, pattern, all Journal[string]
		_, err := runtime.SubscribeNamespace(f.Bus, "order.*", "", func(_ context.Context, e runtime.Event[OrderEvent]) error {
			namespace.Add(e.Type)
			return nil
		}, runtime.Ephemeral())
		Must(t, err)
		for glob, seen := range map[string]*Journal[string]{"user.*": &pattern, "*": &all} {
			_, err := runtime.SubscribePattern(f.Bus, glob, "", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
				seen.Add(e.Type)
				return nil
			}, runtime.Ephemeral())
			Must(t, err)
		}
		f.Publish(1)
		_, err = runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{})
		Must(t, err)
		synctest.Wait()
		if n, p, a := namespace.All(), pattern.All(), all.All(); !slices.Equal(n, []string{"order.placed"}) ||
			!slices.Equal(p, []string{"user.created"}) || !slices.Equal(a, []string{"order.placed", "user.created"}) {
			t.Errorf("order.* has %v, user.* has %v, * has %v", n, p, a)
		}
	})
}

func (env *Env) TestWaitIdleAndReceiptsDoNotWaitForAnEphemeralHandlerButUnsubscribeAndShutdownDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.MustStart()
		finish := make(chan struct{})
		var finished atomic.Int32
		slow := func(context.Context, runtime.Event[OrderPlaced]) error {
			<-finish
			finished.Add(1)
			return nil
		}
		s := f.Handle("a", slow, runtime.Ephemeral())
		f.Handle("b", slow, runtime.Ephemeral())
		receipt := f.Publish(1)[0]
		synctest.Wait()
		f.Idle()
		_, err := receipt.Wait(t.Context())
		Must(t, err)
		unsubscribed, second := make(chan error, 1), make(chan error, 1)
		go func() { unsubscribed <- s.Unsubscribe(t.Context()) }()
		synctest.Wait()
		go func() { second <- s.Unsubscribe(t.Context()) }()
		synctest.Wait()
		if len(unsubscribed)+len(second) > 0 {
			t.Error("Unsubscribe returned while the handler ran")
		}
		down := make(chan error, 1)
		go func() { down <- f.Shutdown(context.Background()) }()
		synctest.Wait()
		if len(down) > 0 {
			t.Error("Shutdown returned while a handler ran")
		}
		close(finish)
		for _, ended := range []chan error{unsubscribed, second, down} {
			if err := <-ended; err != nil && !errors.Is(err, runtime.ErrShutdown) {
				t.Error(err)
			}
		}
		if finished.Load() != 2 {
			t.Errorf("%d handlers have finished", finished.Load())
		}
		if _, err := runtime.Subscribe(f.Bus, PlacedType, "", slow, runtime.Ephemeral()); !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("Subscribe after the shutdown: %v", err)
		}
	})
}

func (env *Env) TestOptionsThatMakeNoSenseForAnEphemeralSubscriptionAreNamed(t *testing.T) {
	f := env.Open(t)
	ok := func(context.Context, runtime.Event[OrderPlaced]) error { return nil }
	dead := func(context.Context, runtime.Event[runtime.DeadLetter[OrderPlaced]]) error { return nil }
	for option, subscribe := range map[string]func() (*runtime.Subscription, error){
		"FromBeginning": func() (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "x", ok, runtime.Ephemeral(), runtime.FromBeginning())
		},
		"InGroup": func() (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "x", ok, runtime.InGroup("g"), runtime.Ephemeral())
		},
		"WithAliases": func() (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "x", ok, runtime.Ephemeral(), runtime.WithAliases("y"))
		},
		"Ephemeral": func() (*runtime.Subscription, error) {
			return runtime.SubscribeDead(f.Bus, PlacedType, "x", dead, runtime.Ephemeral())
		},
		"answers of durable subscriptions": func() (*runtime.Subscription, error) {
			return runtime.SubscribeAnswer(f.Bus, PlacedType, "x", func(context.Context, runtime.Event[OrderPlaced]) (int, error) { return 0, nil }, runtime.Ephemeral())
		},
		"cannot be printed": func() (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "a\nb", ok, runtime.Ephemeral())
		},
		"handler is nil": func() (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "x", nil, runtime.Ephemeral())
		},
	} {
		s, err := subscribe()
		var refused *runtime.SubscribeError
		if s != nil || !errors.As(err, &refused) || !strings.Contains(refused.Problem, option) {
			t.Errorf("want a *SubscribeError that says %s, got %v", option, err)
		}
	}
	if n := len(f.Stats().Subscriptions); n > 0 {
		t.Errorf("%d subscriptions are left", n)
	}
}

func (env *Env) TestTheNameOfAnEphemeralSubscriptionIsALabel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[string]
		handler := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Subscription)
			return nil
		}
		f.Handle("audit", handler, runtime.Ephemeral())
		f.Handle("audit", handler)
		f.Handle("audit", handler, runtime.Ephemeral())
		f.MustStart()
		Must(t, f.PauseSubscription(t.Context(), "audit", ""))
		f.Publish(1)
		within()
		if got := seen.All(); len(got) != 2 {
			t.Errorf("handled %v while the durable subscription is paused, want by both ephemeral ones", got)
		}
		Must(t, f.ResumeSubscription(t.Context(), "audit"))
		f.Idle()
		Must(t, f.PauseTypes(t.Context(), "order.*", ""))
		f.Publish(2)
		within()
		if got := seen.All(); len(got) != 5 {
			t.Errorf("handled %v, want that a pause of the type holds the durable subscription back and no other", got)
		}
		var text strings.Builder
		Must(t, f.WriteMetrics(t.Context(), &text))
		if n := strings.Count(text.String(), `busgen_handled_total{subscription="audit"`); n != 1 {
			t.Errorf("the metrics have %d series of the name, want that of the durable subscription", n)
		}
		if all := f.Stats().Subscriptions; len(all) != 3 || all[0].Ephemeral || !all[1].Ephemeral || !all[2].Ephemeral || all[1].Handled != 2 {
			t.Errorf("stats: %+v", all)
		}
	})
}

func (env *Env) TestAnEphemeralSubscriptionKeepsTheOrderOfKeysAndSnoozes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[int]
		f.Handle("", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 1 && e.Attempt < 3 {
				return runtime.Snooze(time.Minute)
			}
			seen.Add(e.Payload.Number)
			return nil
		}, runtime.Ephemeral(), runtime.WithConcurrency(4), runtime.WithStrictOrder())
		f.Publish(1, 2, 3)
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := seen.All(); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("handled %v, want the order of the key", got)
		}
	})
}

func (env *Env) TestTuningAppliesToEphemeralSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		s := f.Handle("", func(context.Context, runtime.Event[OrderPlaced]) error { return nil }, runtime.Ephemeral())
		settings := PlacedType.Any().Settings()
		settings.Timeout = 7 * time.Second
		Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"order.placed": settings}}))
		if got := f.Stats().Subscriptions[0].Settings["order.placed"].Timeout; got != 7*time.Second {
			t.Errorf("the timeout is %v", got)
		}
		if !s.Ephemeral() {
			t.Error("Ephemeral is false")
		}
	})
}
