package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestSettingsAreTunedWhileTheBusRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var plain, overridden Journal[time.Duration]
		note := func(j *Journal[time.Duration]) runtime.Handler[OrderPlaced] {
			return func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				j.Add(time.Since(e.PublishedAt).Round(time.Millisecond))
				return ErrBoom
			}
		}
		f.Handle("plain", note(&plain))
		f.Handle("overridden", note(&overridden), runtime.WithRetry(retry.BaseDelay(2*time.Second)))
		f.MustStart()
		f.Publish(1)
		synctest.Wait() // the first attempt has failed by the old settings
		Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{
			"order.placed": Within(time.Second, Exact(retry.MaxAttempts(3), retry.BaseDelay(10*time.Second))),
		}}))
		f.Idle()
		if got, want := plain.All(), []time.Duration{0, time.Second, 21 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("ran after %v, want %v: the new schedule from the next failure on", got, want)
		}
		if got, want := overridden.All(), []time.Duration{0, 2 * time.Second, 6 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("with an override it ran after %v, want %v", got, want)
		}
		Must(t, f.Tune(runtime.Tuning{}))
		f.Publish(2)
		f.Idle()
		if got := plain.All()[3:]; len(got) != 4 {
			t.Errorf("after tuning back it ran %d times, want 4", len(got))
		}
	})
}

func (env *Env) TestTuningIsAllOrNothing(t *testing.T) {
	f := env.Open(t)
	f.Handle("strange", func(context.Context, runtime.Event[OrderPlaced]) error { return nil }, runtime.WithRetry(retry.MaxDelay(5*time.Second)))
	good := Within(time.Minute, Exact(retry.MaxAttempts(9)))
	bad := good
	bad.Timeout = -1
	tooLong := Within(time.Minute, Exact(retry.BaseDelay(10*time.Second)))
	for name, test := range map[string]struct {
		tuning runtime.Tuning
		want   string
	}{
		"a type that is not in the catalogue": {runtime.Tuning{Types: map[string]declare.Settings{"order.lost": good, "user.created": good}}, "order.lost"},
		"settings that are not valid":         {runtime.Tuning{Types: map[string]declare.Settings{"order.paid": bad, "user.created": good}}, "Timeout is -1ns"},
		"a subscription nobody declares":      {runtime.Tuning{Subscriptions: map[string]declare.Settings{"strange": good}}, "strange"},
		"settings that an override makes invalid": {
			runtime.Tuning{Types: map[string]declare.Settings{"order.placed": tooLong, "user.created": good}}, "BaseDelay 10s is longer than MaxDelay 5s",
		},
	} {
		if err := f.Tune(test.tuning); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, test.want)
		}
	}
	var problem *runtime.UnknownTypeError
	if err := f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"x": good}}); !errors.As(err, &problem) {
		t.Errorf("got %v", err)
	}
}

func (env *Env) TestErrorClassesFollowTheRulesOfTheCatalogue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := Within(time.Minute, Exact())
		settings.Errors = []declare.ErrorRule{
			{Class: "rate_limited", Retry: []retry.Option{retry.BaseDelay(20 * time.Second)}},
			{Class: "declined", Permanent: true},
		}
		errDeclined, errLimited := errors.New("declined"), errors.New("slow down")
		strict := runtime.Define(runtime.Spec[OrderPlaced]{Name: "order.placed", Settings: settings})
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(strict),
			runtime.WithErrorClass("declined", runtime.ErrorIs(errDeclined)), runtime.WithErrorClass("rate_limited", runtime.ErrorIs(errLimited)))
		var ran Journal[string]
		_, err := runtime.Subscribe(f.Bus, strict, "shop", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			ran.Add(fmt.Sprint(e.Payload.Number, " ", time.Since(e.PublishedAt).Round(time.Second)))
			switch {
			case e.Payload.Number == 1:
				return fmt.Errorf("card: %w", errDeclined)
			case e.Payload.Number == 2 && e.Attempt == 1:
				return errLimited
			}
			return nil
		})
		Must(t, err)
		f.MustStart()
		for n := range 2 {
			_, err := runtime.Publish(t.Context(), f.Bus, strict, OrderPlaced{OrderID: "A", Number: n + 1})
			Must(t, err)
		}
		f.Idle()
		if got, want := strings.Join(ran.All(), ", "), "1 0s, 2 0s, 2 20s"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
	})
}

func (env *Env) TestDeadLettersAreRedrivenAsTheCatalogueSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := Within(time.Second, Exact(retry.MaxAttempts(1)))
		settings.Redrive = declare.Redrive{Reasons: []string{"timeout"}, Every: time.Hour, Max: 3}
		again := runtime.Define(runtime.Spec[OrderPlaced]{Name: "order.placed", Settings: settings})
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(again))
		var times Journal[string]
		_, err := runtime.Subscribe(f.Bus, again, "shop", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			times.Add(fmt.Sprint(e.Payload.Number, " ", e.Attempt, " ", time.Since(e.PublishedAt).Round(10*time.Minute)))
			if e.Payload.Number == 1 {
				return ErrBoom // dead, but not for a timeout
			}
			<-ctx.Done()
			return ctx.Err()
		})
		Must(t, err)
		f.MustStart()
		for n := range 2 {
			_, err := runtime.Publish(t.Context(), f.Bus, again, OrderPlaced{OrderID: "A", Number: n + 1})
			Must(t, err)
		}
		time.Sleep(6 * time.Hour)
		want := "1 1 0s, 2 1 0s, 2 2 1h0m0s, 2 3 2h0m0s, 2 4 3h0m0s"
		if got := strings.Join(times.All(), ", "); got != want {
			t.Errorf("ran %s\nwant %s", got, want)
		}
		redrives := 0
		for _, a := range f.peek().audit() {
			if a.Action == "redrive" {
				redrives += a.Count
			}
		}
		if redrives != 3 {
			t.Errorf("the audit says %d redrives, want 3", redrives)
		}
	})
}
