package inspect_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
	"github.com/busgen/busgen/runtime/retry"
)

// soon is how long it takes until others see that a breaker has changed.
const soon = 101 * time.Millisecond

// withBreaker has the built-in circuit breaker, and no second attempt.
var withBreaker = []runtime.SubscribeOption{runtime.WithBreaker(breaker.On()), runtime.WithRetry(retry.MaxAttempts(1))}

func (f *fixture) breakers() []inspect.Breaker {
	f.t.Helper()
	breakers, err := f.file.Breakers(f.t.Context())
	must(f.t, err)
	return breakers
}

func (f *fixture) running() []inspect.Running {
	f.t.Helper()
	running, err := f.file.Running(f.t.Context())
	must(f.t, err)
	return running
}

// order publishes one.
func (f *fixture) order(number int) {
	f.t.Helper()
	_, err := runtime.Publish(f.t.Context(), f.Bus, placedType, order{Number: number})
	must(f.t, err)
}

// opened is a bus with a printer whose breaker has just opened, at the time that it
// returns.
func opened(t *testing.T, broken *atomic.Bool, printed *handled, opts ...runtime.SubscribeOption) (*fixture, time.Time) {
	t.Helper()
	f := open(t)
	broken.Store(true)
	f.subscribe("printer", func(number, attempt int) error {
		if broken.Load() {
			return errBroken
		}
		return printed.handle(number, attempt)
	}, append(opts, withBreaker...)...)
	f.subscribe("ledger", fine, withBreaker...)
	f.start()
	at := time.Now()
	for n := range 6 {
		f.order(n)
	}
	time.Sleep(soon)
	return f, at.UTC()
}

func TestAnOpenBreakerIsSeenFromOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		var printed handled
		f, at := opened(t, &broken, &printed)
		want := inspect.Breaker{
			Subscription: "printer", State: "open", Since: at, Until: at.Add(30 * time.Second),
			Failures: 4, Deliveries: 4, LastError: errBroken.Error(),
		}
		if got := f.breakers(); len(got) != 1 || got[0] != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		status, err := f.file.Status(t.Context())
		must(t, err)
		if len(status.Breakers) != 1 || status.Breakers[0] != want {
			t.Errorf("the status has %+v", status.Breakers)
		}
		time.Sleep(30 * time.Second) // a probe has failed
		want.Until, want.Failures, want.Deliveries = want.Until.Add(30*time.Second), 5, 5
		if got := f.breakers(); len(got) != 1 || got[0] != want {
			t.Errorf("after a probe got %+v, want %+v", got, want)
		}
		broken.Store(false)
		time.Sleep(30 * time.Second)
		if got := f.breakers(); len(got) != 0 || len(printed.all()) != 1 {
			t.Errorf("after one that went well there are %+v, and %v were printed", got, printed.all())
		}
	})
}

func TestABreakerIsClosedFromOutside(t *testing.T) {
	for name, opts := range map[string][]runtime.SubscribeOption{"alone": nil, "in a group": {runtime.InGroup("office")}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var broken atomic.Bool
				var printed handled
				f, _ := opened(t, &broken, &printed, opts...)
				broken.Store(false)
				began := time.Now()
				must(t, f.file.CloseBreaker(t.Context(), "printer"))
				if took := time.Since(began); took > 2*notice {
					t.Errorf("closing took %v", took)
				}
				if got := f.breakers(); len(got) != 0 {
					t.Errorf("there are still %+v", got)
				}
				f.order(7)
				synctest.Wait()
				if printed.all() == nil {
					t.Error("nothing is delivered to the printer")
				}
				if got := query(t, f.path, "SELECT actor, action, subscription, count FROM audit"); len(got) != 1 || got[0] != "ada|close breaker|printer|1" {
					t.Errorf("the audit has %q", got)
				}
				var missing *inspect.NotFoundError
				if err := f.file.CloseBreaker(t.Context(), "printer"); !errors.As(err, &missing) || len(missing.Known) != 0 {
					t.Errorf("closing it again: %v", err)
				}
			})
		})
	}
}

func TestClosingABreakerLeavesNoRequestBehind(t *testing.T) {
	requests := func(t *testing.T, path string) string {
		return query(t, path, "SELECT count(*) FROM breaker_requests")[0]
	}
	t.Run("of one that is not open", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var broken atomic.Bool
			f, _ := opened(t, &broken, new(handled))
			var missing *inspect.NotFoundError
			if err := f.file.CloseBreaker(t.Context(), "ledger"); !errors.As(err, &missing) || len(missing.Known) != 1 || missing.Known[0] != "printer" {
				t.Errorf("got %v", err)
			}
			if n := requests(t, f.path); n != "0" {
				t.Errorf("%s requests are left", n)
			}
		})
	})
	t.Run("when nobody dispatches", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var broken atomic.Bool
			f, _ := opened(t, &broken, new(handled))
			f.stop()
			if err := f.file.CloseBreaker(t.Context(), "printer"); !errors.Is(err, inspect.ErrNobodyDispatches) {
				t.Errorf("got %v", err)
			}
			if n := requests(t, f.path); n != "0" || len(f.breakers()) != 0 {
				t.Errorf("%s requests are left, and the breakers %+v", n, f.breakers())
			}
			if n := query(t, f.path, "SELECT count(*) FROM breakers")[0]; n != "0" {
				t.Errorf("a process that has ended well leaves %s breakers in the file", n)
			}
		})
	})
	// A process that dispatches and does not answer: it hangs, or is an older one.
	for name, end := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"when nobody answers": func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
		"when whoever asked does not wait any longer": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := t.TempDir() + "/events.db"
				log, err := sqlite.Open(path, sqlite.Options{})
				must(t, err)
				defer log.Close()
				_, err = log.TakeOver(t.Context())
				must(t, err)
				must(t, log.Show(t.Context(), engine.Activity{Breakers: []engine.Breaker{{Subscription: "printer", State: "open", Since: time.Now()}}}, nil))
				ctx, cancel := end(t.Context())
				defer cancel()
				if err := outside(t, path).CloseBreaker(ctx, "printer"); err == nil || ctx.Err() == nil && !strings.Contains(err.Error(), "has not answered within 3s") {
					t.Errorf("got %v", err)
				}
				if n := requests(t, path); n != "0" {
					t.Errorf("%s requests are left", n)
				}
				late := []engine.BreakerRequest{{Subscription: "printer", Actor: "ada", At: time.Now()}}
				must(t, log.Show(t.Context(), engine.Activity{}, late))
				if n := query(t, path, "SELECT count(*) FROM audit")[0]; n != "0" {
					t.Errorf("there are %s audit rows for what did not happen", n)
				}
			})
		})
	}
}

// What a process has said of itself that was killed.
const leftovers = `
	INSERT INTO breakers VALUES ('printer', NULL, 'open', 1, 2, 4, 4, 'out of paper');
	INSERT INTO breaker_requests VALUES ('printer', 'bob', 3);
	INSERT INTO running VALUES ('printer', NULL, 0, x'00000000000070008000000000000001', 'order.placed', 1, 1, 2, 0)`

func TestWhatAProcessHasSaidOfItselfEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		for statement := range strings.SplitSeq(leftovers, ";") {
			query(t, f.path, statement)
		}
		status, err := f.file.Status(t.Context())
		must(t, err)
		if len(f.breakers())+len(f.running())+len(status.Breakers)+len(status.Running) != 0 {
			t.Errorf("nobody dispatches, and there are breakers %+v and handlers %+v", f.breakers(), f.running())
		}
		f.start()
		if len(f.breakers())+len(f.running()) != 0 {
			t.Errorf("the next process has breakers %+v and handlers %+v of the last", f.breakers(), f.running())
		}
		if n := query(t, f.path, "SELECT count(*) FROM breaker_requests")[0]; n != "0" {
			t.Errorf("%s requests to the last process are left to the next", n)
		}
	})
}

func TestHandlersThatRunForLongAreSeenFromOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.subscribe("printer", func(number, _ int) error {
			switch number {
			case 1:
				time.Sleep(500 * time.Millisecond)
			case 2:
				time.Sleep(5 * time.Second)
			case 3:
				time.Sleep(time.Minute) // and ignores its deadline
			}
			return nil
		}, runtime.WithTimeout(10*time.Second), runtime.WithConcurrency(2), runtime.WithRetry(retry.MaxAttempts(1)))
		f.start()
		time.Sleep(500 * time.Millisecond)
		f.order(1)
		time.Sleep(900 * time.Millisecond)
		if got := f.running(); len(got) != 0 {
			t.Errorf("a handler of half a second: %+v", got)
		}
		began := time.Now().UTC()
		receipt, err := runtime.Publish(t.Context(), f.Bus, placedType, order{Number: 3})
		must(t, err)
		time.Sleep(200 * time.Millisecond)
		f.order(2)
		time.Sleep(2500 * time.Millisecond)
		want := inspect.Running{
			Subscription: "printer", Event: receipt.ID, Type: "order.placed", Attempt: 1, Started: began, Deadline: began.Add(10 * time.Second),
		}
		got := f.running()
		if len(got) != 2 || got[1].Worker == got[0].Worker || got[1].Started.Sub(began) != 200*time.Millisecond {
			t.Fatalf("two handlers are at work: %+v", got)
		}
		want.Worker = got[0].Worker
		if got[0] != want {
			t.Errorf("got %+v, want %+v", got[0], want)
		}
		time.Sleep(10 * time.Second)
		want.Abandoned = true
		if got := f.running(); len(got) != 1 || got[0] != want {
			t.Errorf("left behind is %+v, want %+v", got, want)
		}
		status, err := f.file.Status(t.Context())
		must(t, err)
		if len(status.Running) != 1 || status.Subscriptions[0].Dead != 1 {
			t.Errorf("the status is %+v", status)
		}
		time.Sleep(time.Minute)
		if got := f.running(); len(got) != 0 {
			t.Errorf("after it has returned: %+v", got)
		}
	})
}
