package conformance

import (
	"context"
	"fmt"
	goruntime "runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

// jobs returns an event type of each priority, by its word, and a catalogue of them.
func jobs() (map[string]*runtime.EventType[UserCreated], *runtime.Catalogue) {
	types := map[string]*runtime.EventType[UserCreated]{}
	var all []runtime.Definition
	for name, priority := range map[string]runtime.Priority{
		"low": runtime.PriorityLow, "normal": runtime.PriorityNormal, "high": runtime.PriorityHigh, "critical": runtime.PriorityCritical,
	} {
		types[name] = runtime.Define(runtime.Spec[UserCreated]{
			Name: "job." + name, Settings: Within(30*time.Second, Exact(retry.MaxAttempts(2))), Priority: priority,
		})
		all = append(all, types[name])
	}
	return types, runtime.NewCatalogue(all...)
}

func (env *Env) TestACriticalEventOvertakesAHighOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		types, catalogue := jobs()
		f := env.ReopenWith(t, env.Target(t), catalogue)
		var seen Journal[string]
		_, err := runtime.SubscribePattern(f.Bus, "job.*", "jobs", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			seen.Add(e.Type)
			return nil
		})
		Must(t, err)
		for _, word := range []string{"low", "high", "normal", "critical"} {
			_, err := runtime.PublishBatch(t.Context(), f.Bus, types[word], make([]UserCreated, 2))
			Must(t, err)
		}
		f.MustStart()
		f.Idle()
		want := []string{"job.critical", "job.critical", "job.high", "job.high", "job.normal", "job.normal", "job.low", "job.low"}
		if got := seen.All(); !slices.Equal(got, want) {
			t.Errorf("handled in the order %v, want %v", got, want)
		}
	})
}

func (env *Env) TestADeadLetterOfACriticalEventIsAnAlert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		types, catalogue := jobs()
		var alerts Journal[string]
		f := env.ReopenWith(t, env.Target(t), catalogue, runtime.WithObserver(observe.Observer{
			Alert: func(i observe.AlertInfo) {
				time.Sleep(2 * time.Minute) // it holds up nothing
				alerts.Add(fmt.Sprint(i.Type, " ", i.Subscription, " #", i.Attempt, " ", i.Reason, ": ", i.LastError))
			},
		}))
		_, err := runtime.SubscribePattern(f.Bus, "job.*", "jobs", func(context.Context, runtime.Event[runtime.Raw]) error { return ErrBoom })
		Must(t, err)
		f.MustStart()
		for _, word := range []string{"high", "critical", "low"} {
			_, err := runtime.Publish(t.Context(), f.Bus, types[word], UserCreated{})
			Must(t, err)
		}
		_, err = runtime.Publish(t.Context(), f.Bus, types["normal"], UserCreated{}, runtime.WithPriority(runtime.PriorityCritical))
		Must(t, err)
		began := time.Now()
		f.Idle()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the events were settled after %v", took)
		}
		time.Sleep(5 * time.Minute)
		if got, want := alerts.All(), []string{"job.critical jobs #2 max_attempts: boom", "job.normal jobs #2 max_attempts: boom"}; !slices.Equal(got, want) {
			t.Errorf("alerts are %q, want %q", got, want)
		}
		alerted := map[any]any{}
		for _, line := range f.Log.Level(t, "ERROR") {
			alerted[line["event_type"]] = line["alert"]
		}
		if len(alerted) != 4 || alerted["job.normal"] != "critical" || alerted["job.critical"] != "critical" || alerted["job.high"] != nil || alerted["job.low"] != nil {
			t.Errorf("errors in the log have the alerts %v", alerted)
		}
	})
}

func (env *Env) TestAnObserverHearsThatAttemptsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Journal[string]
		observer := observe.Observer{
			Started: func(i observe.AttemptInfo) {
				told.Add(fmt.Sprint("started ", i.Subscription, " #", i.Attempt, " ", i.Took))
			},
			Failed:  func(i observe.FailedInfo) { told.Add(fmt.Sprint("failed #", i.Attempt, " ", i.Kind)) },
			Handled: func(i observe.HandledInfo) { told.Add(fmt.Sprint("handled #", i.Attempt, " ", i.Took)) },
		}
		f := env.Open(t, runtime.WithObserver(observe.Observer{Started: func(observe.AttemptInfo) { panic("boom") }}), runtime.WithObserver(observer))
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			told.Add("handler")
			time.Sleep(time.Second)
			switch e.Attempt {
			case 1:
				panic("boom")
			case 2:
				goruntime.Goexit()
			}
			return nil
		})
		f.MustStart()
		f.Publish(1)
		f.Idle()
		want := []string{
			"started reader #1 0s", "handler", "failed #1 panic", "started reader #2 0s", "handler", "failed #2 goexit",
			"started reader #3 0s", "handler", "handled #3 1s",
		}
		if got := told.All(); !slices.Equal(got, want) {
			t.Errorf("the observer was told %q, want %q", got, want)
		}
	})
}
