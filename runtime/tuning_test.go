package runtime_test

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
	"github.com/busgen/busgen/runtime/retry"
)

func TestSettingsAreTunedWhileTheBusRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var plain, overridden journal[time.Duration]
		note := func(j *journal[time.Duration]) runtime.Handler[orderPlaced] {
			return func(_ context.Context, e runtime.Event[orderPlaced]) error {
				j.add(time.Since(e.PublishedAt).Round(time.Millisecond))
				return errBoom
			}
		}
		f.handle("plain", note(&plain))
		f.handle("overridden", note(&overridden), runtime.WithRetry(retry.BaseDelay(2*time.Second)))
		f.start()
		f.publish(1)
		synctest.Wait() // the first attempt has failed by the old settings
		must(t, f.Tune(runtime.Tuning{Types: map[string]runtime.Settings{
			"order.placed": within(time.Second, exact(retry.MaxAttempts(3), retry.BaseDelay(10*time.Second))),
		}}))
		f.idle()
		if got, want := plain.all(), []time.Duration{0, time.Second, 21 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("ran after %v, want %v: the new schedule from the next failure on", got, want)
		}
		if got, want := overridden.all(), []time.Duration{0, 2 * time.Second, 6 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("with an override it ran after %v, want %v", got, want)
		}
		must(t, f.Tune(runtime.Tuning{}))
		f.publish(2)
		f.idle()
		if got := plain.all()[3:]; len(got) != 4 {
			t.Errorf("after tuning back it ran %d times, want 4", len(got))
		}
	})
}

func TestTuningIsAllOrNothing(t *testing.T) {
	f := open(t)
	f.handle("strange", func(context.Context, runtime.Event[orderPlaced]) error { return nil }, runtime.WithRetry(retry.MaxDelay(5*time.Second)))
	good := within(time.Minute, exact(retry.MaxAttempts(9)))
	bad := good
	bad.Timeout = 0
	tooLong := within(time.Minute, exact(retry.BaseDelay(10*time.Second)))
	for name, test := range map[string]struct {
		tuning runtime.Tuning
		want   string
	}{
		"a type that is not in the catalogue": {runtime.Tuning{Types: map[string]runtime.Settings{"order.lost": good, "user.created": good}}, "order.lost"},
		"settings that are not valid":         {runtime.Tuning{Types: map[string]runtime.Settings{"order.paid": bad, "user.created": good}}, "Timeout is 0s"},
		"a subscription nobody declares":      {runtime.Tuning{Subscriptions: map[string]runtime.Settings{"strange": good}}, "strange"},
		"settings that an override makes invalid": {
			runtime.Tuning{Types: map[string]runtime.Settings{"order.placed": tooLong, "user.created": good}}, "BaseDelay 10s is longer than MaxDelay 5s",
		},
	} {
		if err := f.Tune(test.tuning); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, test.want)
		}
	}
	var problem *runtime.UnknownTypeError
	if err := f.Tune(runtime.Tuning{Types: map[string]runtime.Settings{"x": good}}); !errors.As(err, &problem) {
		t.Errorf("got %v", err)
	}
}

func TestTheCatalogueSaysWhatClassesOfErrorsMean(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := within(time.Minute, exact())
		settings.Errors = []runtime.ErrorRule{
			{Class: "rate_limited", Retry: []retry.Option{retry.BaseDelay(20 * time.Second)}},
			{Class: "declined", Permanent: true},
		}
		errDeclined, errLimited := errors.New("declined"), errors.New("slow down")
		strict := runtime.Define(runtime.Spec[orderPlaced]{Name: "order.placed", Settings: settings})
		f := reopenWith(t, t.TempDir()+"/events.db", runtime.NewCatalogue(strict),
			runtime.WithErrorClass("declined", runtime.ErrorIs(errDeclined)), runtime.WithErrorClass("rate_limited", runtime.ErrorIs(errLimited)))
		var ran journal[string]
		_, err := runtime.Subscribe(f.Bus, strict, "shop", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			ran.add(fmt.Sprint(e.Payload.Number, " ", time.Since(e.PublishedAt).Round(time.Second)))
			switch {
			case e.Payload.Number == 1:
				return fmt.Errorf("card: %w", errDeclined)
			case e.Payload.Number == 2 && e.Attempt == 1:
				return errLimited
			}
			return nil
		})
		must(t, err)
		f.start()
		for n := range 2 {
			_, err := runtime.Publish(t.Context(), f.Bus, strict, orderPlaced{OrderID: "A", Number: n + 1})
			must(t, err)
		}
		f.idle()
		if got, want := strings.Join(ran.all(), ", "), "1 0s, 2 0s, 2 20s"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
	})
}

func TestDeadLettersAreRedrivenAsTheCatalogueSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		settings := within(time.Second, exact(retry.MaxAttempts(1)))
		settings.Redrive = runtime.Redrive{Reasons: []string{"timeout"}, Every: time.Hour, Max: 3}
		again := runtime.Define(runtime.Spec[orderPlaced]{Name: "order.placed", Settings: settings})
		f := reopenWith(t, t.TempDir()+"/events.db", runtime.NewCatalogue(again))
		var times journal[string]
		_, err := runtime.Subscribe(f.Bus, again, "shop", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			times.add(fmt.Sprint(e.Payload.Number, " ", e.Attempt, " ", time.Since(e.PublishedAt).Round(10*time.Minute)))
			if e.Payload.Number == 1 {
				return errBoom // dead, but not for a timeout
			}
			<-ctx.Done()
			return ctx.Err()
		})
		must(t, err)
		f.start()
		for n := range 2 {
			_, err := runtime.Publish(t.Context(), f.Bus, again, orderPlaced{OrderID: "A", Number: n + 1})
			must(t, err)
		}
		time.Sleep(24 * time.Hour)
		want := "1 1 0s, 2 1 0s, 2 2 1h0m0s, 2 3 2h0m0s, 2 4 3h0m0s"
		if got := strings.Join(times.all(), ", "); got != want {
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
