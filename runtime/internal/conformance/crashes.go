package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

// Hang is a handler that runs until its process is killed.
func Hang(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
	<-ctx.Done()
	return ctx.Err()
}

func (env *Env) TestACrashThatCountsIsLoggedObservedAndInTheStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Journal[string]
		observer := observe.Observer{
			Failed: func(i observe.FailedInfo) {
				told.Add(fmt.Sprintf("failed %d of %d %s: %s", i.Attempt, i.MaxAttempts, i.Kind, i.Error))
			},
			Retrying: func(i observe.RetryingInfo) { told.Add(fmt.Sprint("retrying in ", i.Delay)) },
			Dead: func(i observe.DeadInfo) {
				told.Add(fmt.Sprintf("dead %d of %d %s", i.Attempt, i.MaxAttempts, i.Reason))
			},
		}
		opts := runtime.WithRetry(retry.MaxAttempts(2))
		f := env.Open(t)
		f.Handle("reader", Hang, opts)
		f.MustStart()
		f.Publish(1)
		time.Sleep(20 * time.Second) // so it is in no crash loop

		f = env.Reopen(t, f.Killed(), runtime.WithObserver(observer))
		f.Handle("reader", Hang, opts)
		f.MustStart()
		if s := f.Stats().Subscriptions[0]; s.Failed != 1 || s.Retried != 1 || s.Dead != 0 {
			t.Errorf("after the first crash the stats are %+v", s.Counts)
		}
		lines := f.Log.Level(t, "WARN")
		if i := slices.IndexFunc(lines, func(l map[string]any) bool { return l["msg"] == "event handler failed" }); i < 0 ||
			lines[i]["attempt"] != 1.0 || lines[i]["max_attempts"] != 2.0 || lines[i]["subscription_id"] != "reader" {
			t.Errorf("the warnings are %v, want one about attempt 1 of 2", lines)
		}

		f = env.Reopen(t, f.Killed(), runtime.WithObserver(observer))
		f.Handle("reader", Hang, opts)
		f.MustStart()
		f.Idle()
		if s := f.Stats().Subscriptions[0]; s.Failed != 1 || s.Retried != 0 || s.Dead != 1 {
			t.Errorf("after the second crash the stats are %+v", s.Counts)
		}
		ended := "the process ended while the handler was running"
		want := []string{"failed 1 of 2 crash: " + ended, "retrying in 0s", "failed 2 of 2 crash: " + ended, "dead 2 of 2 crash"}
		if got := told.All(); !slices.Equal(got, want) {
			t.Errorf("observers were told\n%q\nwant\n%q", got, want)
		}
	})
}

func (env *Env) TestAttemptsRunningAtACrashAreInTheHistoryOfEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("one", Hang)
		f.Handle("two", Hang)
		f.MustStart()
		id := f.Publish(1)[0].ID
		f = env.Reopen(t, f.Killed())
		f.MustStart()
		file, err := env.OpenFile(t.Context(), f.Path)
		Must(t, err)
		defer file.Close()
		one, err := file.Event(t.Context(), id)
		Must(t, err)
		for i, other := range []string{"two", "one"} {
			d := one.Deliveries[i]
			if len(d.Crashes) != 1 || !slices.Equal(d.Crashes[0].Beside, []event.Key{{EventID: id, Subscription: other}}) || len(d.Attempts) != 0 {
				t.Errorf("the delivery is %+v, want a crash beside %s and no attempt", d, other)
			}
		}
	})
}

func (env *Env) TestAttemptsRunningAtACrashAreLoggedAndCountForNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		for _, name := range []string{"one", "two"} {
			f.Handle(name, Hang, runtime.WithRetry(retry.MaxAttempts(1)))
		}
		f.MustStart()
		f.Publish(1)
		f = env.Reopen(t, f.Killed())
		var alone Journal[string]
		for _, name := range []string{"one", "two"} {
			f.Handle(name, func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				alone.Add("begin")
				time.Sleep(time.Second)
				alone.Add(fmt.Sprint("end ", e.Attempt, " of ", e.MaxAttempts))
				return nil
			}, runtime.WithRetry(retry.MaxAttempts(1)))
		}
		f.MustStart()
		if r := f.Stats().Recovery; r.Interrupted != 2 {
			t.Errorf("recovered %+v, want two that were interrupted", r)
		}
		f.Idle()
		time.Sleep(11 * time.Second)
		if got := strings.Join(alone.All(), ", "); got != "begin, end 2 of 2, begin, end 2 of 2" {
			t.Errorf("they ran as %s, want one after the other", got)
		}
		var messages []string
		for _, level := range []string{"WARN", "INFO"} {
			for _, line := range f.Log.Level(t, level) {
				messages = append(messages, fmt.Sprint(line["msg"]))
			}
		}
		for _, want := range []string{
			"the process ended while several handlers were running; it counts for none of them, and they now run alone: one at a time, or in half a batch",
			"handlers that were running when the process died now run alone: one at a time, or in half a batch",
			"handlers run in parallel again: none that is suspected of a crash was due for ten seconds",
		} {
			if !slices.Contains(messages, want) {
				t.Errorf("the log has no line %q in %q", want, messages)
			}
		}
	})
}

// Suspects come one by one, with other events between them: here the second one when its subscription is made.
func (env *Env) TestTheLogDoesNotGoBackAndForthBetweenSuspectsAndOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		names := []string{"one", "two", "three"}
		for _, name := range names {
			f.Handle(name, Hang)
		}
		f.MustStart()
		f.Publish(1)
		f = env.Reopen(t, f.Killed())
		f.MustStart()
		for _, name := range names {
			f.Handle(name, func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
			f.Idle()
			f.Publish(2)
			f.Idle()
			time.Sleep(5 * time.Second)
		}
		time.Sleep(time.Minute)
		count := func(level, text string) (n int) {
			for _, line := range f.Log.Level(t, level) {
				if line["msg"] == text {
					n++
				}
			}
			return n
		}
		began := count("WARN", "handlers that were running when the process died now run alone: one at a time, or in half a batch")
		ended := count("INFO", "handlers run in parallel again: none that is suspected of a crash was due for ten seconds")
		if began != 1 || ended != 1 {
			t.Errorf("the log says %d times that suspects run alone, and %d times that they do not any more; want once each", began, ended)
		}
	})
}

// An error class with a policy of its own has a max_attempts of its own.
func (env *Env) TestMaxAttemptsComesFromThePolicyOfTheErrorsClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var told Journal[string]
		opts := []runtime.SubscribeOption{
			runtime.WithRetry(retry.MaxAttempts(2), retry.WithBackoff(retry.None)),
			runtime.WithErrorRetry(runtime.ErrorIs(ErrBoom), retry.MaxAttempts(4), retry.BaseDelay(time.Minute)),
		}
		handler := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			told.Add(fmt.Sprintf("%d of %d", e.Attempt, e.MaxAttempts))
			return ErrBoom
		}
		f.Handle("reader", handler, opts...)
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Second)
		f.Stop()
		lines := f.Log.Level(t, "WARN")
		f = env.Reopen(t, f.Path)
		f.Handle("reader", handler, opts...)
		f.MustStart()
		f.Idle()
		if got := strings.Join(told.All(), ", "); got != "1 of 2, 2 of 4, 3 of 4, 4 of 4" {
			t.Errorf("the handler ran as %s", got)
		}
		var logged []string
		for _, line := range append(lines, f.Log.Level(t, "WARN")...) {
			logged = append(logged, fmt.Sprint(line["attempt"], " of ", line["max_attempts"]))
		}
		if got := strings.Join(logged, ", "); got != "1 of 4, 2 of 4, 3 of 4, 4 of 4" {
			t.Errorf("logged are %s", got)
		}
	})
}
