package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

// wantLog compares the kept lines of an attempt, without their times.
func wantLog(t *testing.T, log string, want ...string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(log) {
		got = append(got, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "time=2000-01-01T00:00:00.000Z "))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("these lines are kept:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (env *Env) TestWhatAFailedAttemptHasLoggedIsKeptWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("till", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			log := runtime.Logger(e).With("order", e.Payload.OrderID)
			log.Debug("looked up", "attempt of", e.Payload.Number)
			log.WithGroup("card").With("brand", "visa").Warn("declined\x1b[31m\nagain", "code", 51, slog.Group("bank", "name", "a \"b\""))
			if e.Attempt == 3 {
				return nil
			}
			if e.Payload.Number == 2 {
				panic("on fire")
			}
			return ErrBoom
		}, runtime.WithRetry(retry.MaxAttempts(3), retry.WithBackoff(retry.None)))
		f.MustStart()
		f.Publish(1, 2)
		f.Idle()
		failures := f.peek().failures()
		if len(failures) != 4 {
			t.Fatalf("%d attempts have failed, want 4", len(failures))
		}
		numbers := map[string]int{}
		for _, a := range failures {
			for _, n := range []string{"1", "2"} {
				if strings.Contains(a.Log, `"attempt of"=`+n) {
					numbers[n]++
					wantLog(t, a.Log, `level=DEBUG msg="looked up" order=A "attempt of"=`+n,
						`level=WARN msg="declined\x1b[31m\nagain" order=A card.brand=visa card.code=51 card.bank.name="a \"b\""`)
				}
			}
		}
		if numbers["1"] != 2 || numbers["2"] != 2 {
			t.Errorf("the lines are those of %v", numbers)
		}
	})
}

func (env *Env) TestTheLoggerOfAnEventWritesToThatOfTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := &LogLines{}
		f := env.Open(t, runtime.WithLogger(slog.New(slog.NewJSONHandler(lines, nil)))) // Info and above
		log := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if runtime.Logger(e) != runtime.Logger(e) {
				t.Error("an attempt has two loggers")
			}
			runtime.Logger(e).Debug("not here")
			runtime.Logger(e).WithGroup("g").Info("here", "k", "v")
			return nil
		}
		f.Handle("alone", log)
		f.Handle("member", log, runtime.InGroup("group"))
		f.MustStart()
		id := f.Publish(1)[0].ID.String()
		f.Idle()
		got := map[any]string{}
		for _, line := range lines.Level(t, "INFO") {
			if line["msg"] == "here" {
				got[line["subscription_id"]] = fmt.Sprintf("%v %v %v %v %v", line["event_id"], line["event_type"], line["attempt"], line["group"], line["g"])
			}
		}
		for name, group := range map[string]string{"alone": "<nil>", "member": "group"} {
			if want := id + " order.placed 1 " + group + " map[k:v]"; got[name] != want {
				t.Errorf("%s has logged %q, want %q", name, got[name], want)
			}
		}
		if n := len(lines.Level(t, "DEBUG")); n != 0 {
			t.Errorf("%d lines are below the level of the bus's logger", n)
		}
	})
}

func (env *Env) TestOnlyTheEndOfALongLogIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("chatty", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			for n := range 1000 {
				runtime.Logger(e).Info(fmt.Sprintf("line-%d", n), "text", strings.Repeat("x", 100))
			}
			runtime.Logger(e).Info(strings.Repeat("é", 10_000))
			runtime.Logger(e).Info("the end")
			return ErrBoom
		}, runtime.WithRetry(retry.MaxAttempts(1)))
		f.MustStart()
		f.Publish(1)
		f.Idle()
		log := env.Letter(t, f.Path).Attempts[0].Log
		lines := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
		if len(log) > 16<<10 || len(log) < 15<<10 {
			t.Errorf("%d bytes are kept, want nearly 16 KiB", len(log))
		}
		var dropped int
		if _, err := fmt.Sscanf(lines[0], "(%d earlier lines were not kept)", &dropped); err != nil || dropped+len(lines)-1 != 1002 {
			t.Errorf("the first line is %q, and %d more are kept of 1002", lines[0], len(lines)-1)
		}
		if !strings.Contains(lines[1], fmt.Sprintf("msg=line-%d ", dropped)) || !strings.HasSuffix(lines[len(lines)-1], `msg="the end"`) {
			t.Errorf("the lines are from %q to %q", lines[1], lines[len(lines)-1])
		}
		long := lines[len(lines)-2]
		if len(long) > 4<<10 || !strings.HasSuffix(long, "é… (16014 bytes more)") {
			t.Errorf("the long line has %d bytes and ends with %q", len(long), long[len(long)-40:])
		}
	})
}

func (env *Env) TestWhatIsLoggedAfterAnAttemptIsNotKeptWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		release, done := make(chan struct{}), make(chan struct{})
		f.Handle("hanging", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Attempt == 2 {
				return ErrBoom
			}
			runtime.Logger(e).Info("before")
			<-release
			runtime.Logger(e).Info("after")
			close(done)
			return nil
		}, runtime.WithTimeout(time.Second), runtime.WithRetry(retry.MaxAttempts(2), retry.BaseDelay(30*time.Second)))
		f.MustStart()
		f.Publish(1)
		time.Sleep(10 * time.Second)
		close(release)
		<-done
		f.Idle()
		attempts := env.Letter(t, f.Path).Attempts
		wantLog(t, attempts[0].Log, "level=INFO msg=before")
		wantLog(t, attempts[1].Log)
		var after int
		for _, line := range f.Log.Level(t, "INFO") {
			if line["msg"] == "after" && line["attempt"] == 1.0 {
				after++
			}
		}
		if after != 1 {
			t.Errorf("the logger of the bus has got the late line %d times", after)
		}
	})
}

func (env *Env) TestGoroutinesOfAHandlerLogAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
		f.Handle("parallel", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			var all sync.WaitGroup
			for n := range 8 {
				all.Go(func() {
					for range 10 {
						runtime.Logger(e).Info("at work", "n", n)
					}
				})
			}
			all.Wait()
			return ErrBoom
		}, runtime.WithRetry(retry.MaxAttempts(1)))
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if n := strings.Count(env.Letter(t, f.Path).Attempts[0].Log, `level=INFO msg="at work" n=`); n != 80 {
			t.Errorf("%d lines are kept, want 80", n)
		}
	})
}

// loggedValue is a value that a handler logs, of which nobody has expected this.
type loggedValue func()

func (v loggedValue) LogValue() slog.Value {
	v()
	return slog.StringValue("well")
}

func (env *Env) TestALogValueThatMisbehavesHarmsItsAttemptAtMost(t *testing.T) {
	var none *loggedValue // a nil pointer in an interface
	for name, test := range map[string]struct {
		value any
		kind  string
		want  string
	}{
		"a panic":         {loggedValue(func() { panic("boom") }), "error", "LogValue panicked"},
		"a nil pointer":   {none, "error", "level=INFO msg=odd"},
		"a nil func":      {loggedValue(nil), "error", "LogValue panicked"},
		"an error's nil":  {(*brokenError)(nil), "error", "<nil>"},
		"a broken error":  {brokenIn("Error"), "error", "PANIC"},
		"it ends its own": {loggedValue(goruntime.Goexit), "goexit", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				f.Handle("odd", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					if e.Payload.Number == 1 {
						runtime.Logger(e).Info("odd", "value", test.value)
						return ErrBoom
					}
					return nil
				}, runtime.WithRetry(retry.MaxAttempts(1)))
				f.MustStart()
				f.Publish(1, 2)
				f.Idle()
				a := env.Letter(t, f.Path).Attempts[0]
				if a.Kind != test.kind || !strings.Contains(a.Log, test.want) {
					t.Errorf("the attempt has failed by %s and logged %q", a.Kind, a.Log)
				}
				if s := f.Stats().Subscriptions[0]; s.Handled != 1 {
					t.Errorf("%d events were handled, want the other one", s.Handled)
				}
			})
		})
	}
}

func (env *Env) TestALogHandlerThatPanicsDoesNotFailTheHandlerThatLogs(t *testing.T) {
	for _, method := range []string{"Enabled", "Handle", "WithAttrs", "WithGroup"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t, runtime.WithLogger(slog.New(brokenHandler{method})))
				f.Handle("logging", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					runtime.Logger(e).With("a", 1).WithGroup("g").Info("kept", "b", 2)
					return ErrBoom
				}, runtime.WithRetry(retry.MaxAttempts(1)))
				f.MustStart()
				f.Publish(1)
				f.Idle()
				a := env.Letter(t, f.Path).Attempts[0]
				if a.Kind != "error" || a.Error != "boom" {
					t.Errorf("the attempt has failed by %s: %s", a.Kind, a.Error)
				}
				wantLog(t, a.Log, "level=INFO msg=kept a=1 g.b=2")
			})
		})
	}
}

func (env *Env) TestOnlyFailedAttemptsKeepWhatTheyLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("steering", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			runtime.Logger(e).Info(fmt.Sprintf("number %d, attempt %d", e.Payload.Number, e.Attempt))
			switch {
			case e.Payload.Number == 1 && e.Attempt == 1:
				return runtime.Snooze(time.Minute)
			case e.Payload.Number == 1:
				return runtime.Permanent(errors.New("no"))
			case e.Payload.Number == 2:
				return runtime.Discard("nobody needs it")
			}
			return nil
		})
		f.MustStart()
		f.Publish(1, 2, 3)
		f.Idle()
		failures := f.peek().failures()
		if len(failures) != 1 || !strings.HasSuffix(failures[0].Log, "level=INFO msg=\"number 1, attempt 2\"\n") || strings.Count(failures[0].Log, "\n") != 1 {
			t.Errorf("kept are %+v", failures)
		}
	})
}

func (env *Env) TestWhatAnAttemptHasLoggedIsLostWithItsProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		log := func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			runtime.Logger(e).Info("one")
			if e.Attempt == 1 {
				return Hang(ctx, e)
			}
			return ErrBoom
		}
		f.Handle("reader", log, runtime.WithRetry(retry.MaxAttempts(2)))
		f.MustStart()
		f.Publish(1)
		f = env.Reopen(t, f.Killed())
		f.Handle("reader", log, runtime.WithRetry(retry.MaxAttempts(2)))
		f.MustStart()
		f.Idle()
		attempts := env.Letter(t, f.Path).Attempts
		if len(attempts) != 2 || attempts[0].Kind != "crash" || attempts[0].Log != "" || !strings.HasSuffix(attempts[1].Log, "level=INFO msg=one\n") {
			t.Errorf("the attempts are %+v", attempts)
		}
	})
}

func (env *Env) TestAnEventThatNoBusHasDeliveredHasTheDefaultLogger(t *testing.T) {
	if e := (runtime.Event[OrderPlaced]{}); runtime.Logger(e) != slog.Default() {
		t.Error("it has another one")
	}
}
