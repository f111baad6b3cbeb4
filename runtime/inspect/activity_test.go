package inspect_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

func TestAnotherProcessCanCloseABreaker(t *testing.T) {
	short.Visit(t, "it fills files")
	for name, opts := range map[string][]runtime.SubscribeOption{"alone": nil, "in a group": {runtime.InGroup("office")}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var broken atomic.Bool
				var printed Handled
				f, _ := SQLite.Opened(t, &broken, &printed, opts...)
				broken.Store(false)
				began := time.Now()
				Must(t, f.File.CloseBreaker(t.Context(), "printer"))
				if took := time.Since(began); took > 2*Notice {
					t.Errorf("closing took %v", took)
				}
				if got := f.Breakers(); len(got) != 0 {
					t.Errorf("there are still %+v", got)
				}
				f.Order(7)
				synctest.Wait()
				if printed.All() == nil {
					t.Error("nothing is delivered to the printer")
				}
				if got := query(t, f.Path, "SELECT actor, action, subscription, count FROM busgen_audit"); len(got) != 1 || got[0] != "ada|close breaker|printer|1" {
					t.Errorf("the audit has %q", got)
				}
				var missing *event.NotFoundError
				if err := f.File.CloseBreaker(t.Context(), "printer"); !errors.As(err, &missing) || len(missing.Known) != 0 {
					t.Errorf("closing it again: %v", err)
				}
			})
		})
	}
}

func TestClosingABreakerLeavesNoRequestBehind(t *testing.T) {
	requests := func(t *testing.T, path string) string {
		return query(t, path, "SELECT count(*) FROM busgen_breaker_requests")[0]
	}
	t.Run("of one that is not open", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var broken atomic.Bool
			f, _ := SQLite.Opened(t, &broken, new(Handled))
			var missing *event.NotFoundError
			if err := f.File.CloseBreaker(t.Context(), "ledger"); !errors.As(err, &missing) || len(missing.Known) != 1 || missing.Known[0] != "printer" {
				t.Errorf("got %v", err)
			}
			if n := requests(t, f.Path); n != "0" {
				t.Errorf("%s requests are left", n)
			}
		})
	})
	t.Run("when nobody dispatches", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var broken atomic.Bool
			f, _ := SQLite.Opened(t, &broken, new(Handled))
			f.Stop()
			if err := f.File.CloseBreaker(t.Context(), "printer"); !errors.Is(err, inspect.ErrNobodyDispatches) {
				t.Errorf("got %v", err)
			}
			if n := requests(t, f.Path); n != "0" || len(f.Breakers()) != 0 {
				t.Errorf("%s requests are left, and the breakers %+v", n, f.Breakers())
			}
			if n := query(t, f.Path, "SELECT count(*) FROM busgen_breakers")[0]; n != "0" {
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
				Must(t, err)
				defer log.Close()
				_, err = log.TakeOver(t.Context())
				Must(t, err)
				Must(t, log.Show(t.Context(), engine.Activity{Breakers: []event.Breaker{{Subscription: "printer", State: "open", Since: time.Now()}}}, nil))
				ctx, cancel := end(t.Context())
				defer cancel()
				err = SQLite.Outside(t, path).CloseBreaker(ctx, "printer")
				if err == nil || ctx.Err() == nil && !strings.Contains(err.Error(), "has not answered within 3s") {
					t.Errorf("got %v", err)
				}
				if n := requests(t, path); n != "0" {
					t.Errorf("%s requests are left after %v", n, err)
				}
				late := []engine.BreakerRequest{{Subscription: "printer", Actor: "ada", At: time.Now()}}
				Must(t, log.Show(t.Context(), engine.Activity{}, late))
				if n := query(t, path, "SELECT count(*) FROM busgen_audit")[0]; n != "0" {
					t.Errorf("there are %s audit rows for what did not happen", n)
				}
			})
		})
	}
}

// What a process has said of itself that was killed.
const leftovers = `
	INSERT INTO busgen_breakers VALUES ('printer', '', NULL, 'open', 1, 2, 4, 4, 'out of paper', 0);
	INSERT INTO busgen_breaker_requests VALUES ('printer', '', 'bob', 3);
	INSERT INTO busgen_running VALUES ('printer', NULL, 0, x'00000000000070008000000000000001', 'order.placed', 1, 1, 2, 0, NULL)`

func TestTheActivityOfAProcessIsClearedAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		for statement := range strings.SplitSeq(leftovers, ";") {
			query(t, f.Path, statement)
		}
		status, err := f.File.Status(t.Context())
		Must(t, err)
		if len(f.Breakers())+len(f.Running())+len(status.Breakers)+len(status.Running) != 0 {
			t.Errorf("nobody dispatches, and there are breakers %+v and handlers %+v", f.Breakers(), f.Running())
		}
		f.MustStart()
		if len(f.Breakers())+len(f.Running()) != 0 {
			t.Errorf("the next process has breakers %+v and handlers %+v of the last", f.Breakers(), f.Running())
		}
		if n := query(t, f.Path, "SELECT count(*) FROM busgen_breaker_requests")[0]; n != "0" {
			t.Errorf("%s requests to the last process are left to the next", n)
		}
	})
}
