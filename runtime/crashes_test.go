package runtime_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/admin"
	"github.com/busgen/busgen/runtime/retry"
)

// killed returns the path of a file as the process of f leaves it that is killed at
// this moment, and ends f.
func (f *fixture) killed() string {
	f.t.Helper()
	synctest.Wait()
	path := filepath.Join(f.t.TempDir(), "events.db")
	for _, suffix := range []string{"", "-wal", "-claims"} {
		content, err := os.ReadFile(f.path + suffix)
		must(f.t, err)
		must(f.t, os.WriteFile(path+suffix, content, 0o600))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f.Shutdown(ctx)
	return path
}

// hang is a handler that runs until its process is killed.
func hang(ctx context.Context, _ runtime.Event[orderPlaced]) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestACrashThatCountsIsLoggedObservedAndInTheStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told journal[string]
		observer := runtime.Observer{
			Failed: func(i runtime.FailedInfo) {
				told.add(fmt.Sprintf("failed %d of %d %s: %s", i.Attempt, i.MaxAttempts, i.Kind, i.Error))
			},
			Retrying: func(i runtime.RetryingInfo) { told.add(fmt.Sprint("retrying in ", i.Delay)) },
			Dead: func(i runtime.DeadInfo) {
				told.add(fmt.Sprintf("dead %d of %d %s", i.Attempt, i.MaxAttempts, i.Reason))
			},
		}
		opts := runtime.WithRetry(retry.MaxAttempts(2))
		f := open(t)
		f.handle("reader", hang, opts)
		f.start()
		f.publish(1)

		f = reopen(t, f.killed(), runtime.WithObserver(observer))
		f.handle("reader", hang, opts)
		f.start()
		if s := f.Stats().Subscriptions[0]; s.Failed != 1 || s.Retried != 1 || s.Dead != 0 {
			t.Errorf("after the first crash the stats are %+v", s.Counts)
		}
		lines := f.log.level(t, "WARN")
		if i := slices.IndexFunc(lines, func(l map[string]any) bool { return l["msg"] == "event handler failed" }); i < 0 ||
			lines[i]["attempt"] != 1.0 || lines[i]["max_attempts"] != 2.0 || lines[i]["subscription_id"] != "reader" {
			t.Errorf("the warnings are %v, want one about attempt 1 of 2", lines)
		}

		f = reopen(t, f.killed(), runtime.WithObserver(observer))
		f.handle("reader", hang, opts)
		f.start()
		f.idle()
		if s := f.Stats().Subscriptions[0]; s.Failed != 1 || s.Retried != 0 || s.Dead != 1 {
			t.Errorf("after the second crash the stats are %+v", s.Counts)
		}
		ended := "the process ended while the handler was running"
		want := []string{"failed 1 of 2 crash: " + ended, "retrying in 0s", "failed 2 of 2 crash: " + ended, "dead 2 of 2 crash"}
		if got := told.all(); !slices.Equal(got, want) {
			t.Errorf("observers were told\n%q\nwant\n%q", got, want)
		}
	})
}

func TestWhatRanTogetherIsInTheHistoryOfEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("one", hang)
		f.handle("two", hang)
		f.start()
		id := f.publish(1)[0].ID
		f = reopen(t, f.killed())
		f.start()
		file, err := admin.Open(f.path)
		must(t, err)
		defer file.Close()
		event, err := file.Event(t.Context(), id)
		must(t, err)
		for i, other := range []string{"two", "one"} {
			d := event.Deliveries[i]
			if len(d.Crashes) != 1 || !slices.Equal(d.Crashes[0].Beside, []admin.Ran{{EventID: id, Subscription: other}}) || len(d.Attempts) != 0 {
				t.Errorf("the delivery is %+v, want a crash beside %s and no attempt", d, other)
			}
		}
	})
}

func TestWhatRanTogetherIsLoggedAndCountsForNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		for _, name := range []string{"one", "two"} {
			f.handle(name, hang, runtime.WithRetry(retry.MaxAttempts(1)))
		}
		f.start()
		f.publish(1)
		f = reopen(t, f.killed())
		var alone journal[string]
		for _, name := range []string{"one", "two"} {
			f.handle(name, func(_ context.Context, e runtime.Event[orderPlaced]) error {
				alone.add("begin")
				time.Sleep(time.Second)
				alone.add(fmt.Sprint("end ", e.Attempt, " of ", e.MaxAttempts))
				return nil
			}, runtime.WithRetry(retry.MaxAttempts(1)))
		}
		f.start()
		if r := f.Stats().Recovery; r.Interrupted != 2 {
			t.Errorf("recovered %+v, want two that were interrupted", r)
		}
		f.idle()
		synctest.Wait()
		if got := strings.Join(alone.all(), ", "); got != "begin, end 2 of 2, begin, end 2 of 2" {
			t.Errorf("they ran as %s, want one after the other", got)
		}
		var messages []string
		for _, level := range []string{"WARN", "INFO"} {
			for _, line := range f.log.level(t, level) {
				messages = append(messages, fmt.Sprint(line["msg"]))
			}
		}
		for _, want := range []string{
			"the process ended while several handlers were running; it counts for none of them, and they run one at a time now",
			"handlers that ran when the process died run one at a time now, and nothing runs beside them",
			"no handler is suspected of a crash any more; all run beside each other again",
		} {
			if !slices.Contains(messages, want) {
				t.Errorf("the log has no line %q in %q", want, messages)
			}
		}
	})
}

// An error class with a policy of its own has a max_attempts of its own.
func TestMaxAttemptsIsThatOfThePolicyOfTheErrorsClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var told journal[string]
		opts := []runtime.SubscribeOption{
			runtime.WithRetry(retry.MaxAttempts(2), retry.WithBackoff(retry.None)),
			runtime.WithErrorRetry(runtime.ErrorIs(errBoom), retry.MaxAttempts(4), retry.BaseDelay(time.Minute)),
		}
		handler := func(_ context.Context, e runtime.Event[orderPlaced]) error {
			told.add(fmt.Sprintf("%d of %d", e.Attempt, e.MaxAttempts))
			return errBoom
		}
		f.handle("reader", handler, opts...)
		f.start()
		f.publish(1)
		time.Sleep(time.Second)
		f.stop()
		lines := f.log.level(t, "WARN")
		f = reopen(t, f.path)
		f.handle("reader", handler, opts...)
		f.start()
		f.idle()
		if got := strings.Join(told.all(), ", "); got != "1 of 2, 2 of 4, 3 of 4, 4 of 4" {
			t.Errorf("the handler ran as %s", got)
		}
		var logged []string
		for _, line := range append(lines, f.log.level(t, "WARN")...) {
			logged = append(logged, fmt.Sprint(line["attempt"], " of ", line["max_attempts"]))
		}
		if got := strings.Join(logged, ", "); got != "1 of 4, 2 of 4, 3 of 4, 4 of 4" {
			t.Errorf("logged are %s", got)
		}
	})
}
