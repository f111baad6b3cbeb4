package systest

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/sqlite"
	"github.com/busgen/busgen/runtime/step"
)

// charge does one step of an order.
func charge(ctx context.Context, name string) error {
	_, err := step.Do(ctx, name, func(context.Context) (string, error) { return "for ada@example.com", nil })
	return err
}

func wantSteps(t *testing.T, path, want string) {
	t.Helper()
	got := queryFile(t, path, "SELECT coalesce(group_concat(line, '; '), '') FROM (SELECT subscription || ' ' || run || ' ' || name || ' ' || coalesce(result, 'NULL') AS line FROM busgen_steps ORDER BY 1)")
	if got != want {
		t.Errorf("the file has the steps %q, want %q", got, want)
	}
}

func wantSound(t *testing.T, path string) {
	t.Helper()
	file, err := inspect.Open(t.Context(), path)
	Must(t, err)
	defer file.Close()
	report, err := file.Check(t.Context(), nil)
	Must(t, err)
	if !report.OK() {
		t.Errorf("the check says %+v", report)
	}
}

// Steps are kept as long as their event and their subscription, whatever that is called.
func TestStepsGoWithTheirEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t, runtime.WithRetention(time.Minute))
		for _, name := range []string{"one", "two"} {
			f.Handle(name, func(ctx context.Context, e runtime.Event[OrderPlaced]) error { return charge(ctx, "charge") })
		}
		f.MustStart()
		f.Publish(1)
		f.Idle()
		f.Stop()
		both := `1 0 charge "for ada@example.com"; 2 0 charge "for ada@example.com"`
		wantSteps(t, f.Path, both)
		wantSound(t, f.Path)

		f = SQLite.Reopen(t, f.Path, runtime.WithRetention(time.Minute))
		f.Handle("first", func(ctx context.Context, e runtime.Event[OrderPlaced]) error { return charge(ctx, "charge") }, runtime.WithAliases("one"))
		f.MustStart()
		wantSteps(t, f.Path, both)
		Must(t, f.Remove(t.Context(), "two"))
		wantSteps(t, f.Path, `1 0 charge "for ada@example.com"`)
		wantSound(t, f.Path)
		Must(t, f.Shutdown(t.Context()))
		f = SQLite.Reopen(t, f.Path, runtime.WithRetention(time.Minute))
		f.MustStart()
		f.Publish(2) // the newest event is never pruned
		time.Sleep(20 * time.Minute)
		wantSteps(t, f.Path, "")
	})
}

func TestACheckFindsStepsWithoutTheirEvent(t *testing.T) {
	f := SQLite.Open(t)
	f.Stop()
	c, err := sqlite3.Open(f.Path)
	Must(t, err)
	Must(t, c.Exec("INSERT INTO busgen_steps VALUES (7, 1, 0, '', 'charge', 'do', '1', 'int', 0, 1, 0, 0, NULL)"))
	Must(t, c.Close())
	file, err := inspect.Open(t.Context(), f.Path)
	Must(t, err)
	defer file.Close()
	report, err := file.Check(t.Context(), nil)
	Must(t, err)
	if text := fmt.Sprintf("%+v", report); report.OK() || !strings.Contains(text, "step charge") {
		t.Errorf("the check says %s", text)
	}
}

// The results of an event about a person are erased, and so is the person in steps of other events that are settled. An
// open delivery of another event keeps its steps: else they would be done again.
func TestResultsAreErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if err := charge(ctx, "mail/ada@example.com"); err != nil {
				return err
			}
			if e.Payload.Number == 3 {
				return step.Sleep(ctx, "nap", time.Hour)
			}
			return nil
		})
		f.MustStart()
		f.Publish(1, 2, 3)
		time.Sleep(time.Minute)
		f.Stop()
		file, err := inspect.Open(t.Context(), f.Path)
		Must(t, err)
		defer file.Close()
		_, err = file.Erase(t.Context(), inspect.Erasure{Values: []string{"ada@example.com"}})
		Must(t, err)
		got := queryFile(t, f.Path, "SELECT group_concat(name || '=' || result, ' ') FROM (SELECT name, result FROM busgen_steps WHERE kind = 'do' ORDER BY seq)")
		if got != `mail/[erased]="for [erased]" mail/[erased]="for [erased]" mail/ada@example.com="for ada@example.com"` {
			t.Errorf("the steps are %s", got)
		}
		_, err = file.Erase(t.Context(), inspect.Erasure{Values: []string{"1"}, Field: "number"})
		Must(t, err)
		if got := queryFile(t, f.Path, "SELECT group_concat(result, ' ') FROM busgen_steps WHERE seq = 1"); got != `"[erased]"` {
			t.Errorf("the result of the event that was erased is %s", got)
		}
	})
}

// Another engine would have the steps done again.
func TestAFileWithOpenStepsIsNotMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			return step.Sleep(ctx, "nap", time.Minute)
		})
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Second)
		f.Stop()
		if _, err := sqlite.Depart(t.Context(), f.Path, "nats"); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), `"fulfil"`) {
			t.Errorf("the error is %v", err)
		}
		f = SQLite.Reopen(t, f.Path)
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			return step.Sleep(ctx, "nap", time.Minute)
		})
		f.MustStart()
		f.Idle()
		f.Stop()
		d, err := sqlite.Depart(t.Context(), f.Path, "nats")
		Must(t, err)
		Must(t, d.Close())
	})
}

// A suspect that stores a step is none any more: others run beside it, and a crash counts from there.
func TestASuspectThatStoresAStepIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		for _, name := range []string{"one", "two"} {
			f.Handle(name, Hang)
		}
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Second)
		path := f.Killed()
		f = SQLite.Reopen(t, path)
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if err := charge(ctx, "charge"); err != nil {
				return err
			}
			return Hang(ctx, e)
		})
		f.MustStart()
		time.Sleep(time.Second)
		got := queryFile(t, f.Path, `SELECT group_concat(s.name || ' ' || d.failures || ' ' || d.uncounted || ' ' || d.suspect, ', ')
			FROM busgen_deliveries d JOIN busgen_subscriptions s ON s.id = d.subscription ORDER BY s.name`)
		if got != "one 0 1 0, two 0 1 1" {
			t.Errorf("the deliveries are %s", got)
		}
	})
}

// A sleep ends at a time of the wall clock, for a process that finds it when the time is over, too.
func TestASleepFollowsTheWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := SQLite.Target(t)
		handle := func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			return step.Sleep(ctx, "nap", time.Hour)
		}
		f := SQLite.Reopen(t, target)
		f.Handle("fulfil", handle)
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Second)
		f.Stop()
		SQLite.Earlier(t, target, 2*time.Hour) // the clock was set forward
		f = SQLite.Reopen(t, target)
		calls := 0
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			calls++
			return handle(ctx, e)
		})
		f.MustStart()
		time.Sleep(time.Second)
		if calls != 1 {
			t.Errorf("the handler was called %d times, want once, when its row is due", calls)
		}
	})
}

// Fifty thousand handlers sleep at once, in no goroutine of their own and little space, and others are handled.
func TestFiftyThousandSleepersCostNothing(t *testing.T) {
	short.Visit(t, "many thousand steps are stored")
	sleepers := 50_000
	if testing.Short() {
		sleepers = 2_000
	}
	f := SQLite.Open(t)
	var asleep atomic.Int32
	all := make(chan struct{})
	f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		if e.Payload.Number == 0 {
			return nil
		}
		err := step.Sleep(ctx, "nap", 24*time.Hour)
		if asleep.Add(1) == int32(sleepers) {
			close(all)
		}
		return err
	}, runtime.WithConcurrency(128))
	f.MustStart()
	before := goruntime.NumGoroutine()
	for n := 0; n < sleepers; n += 1000 {
		orders := make([]OrderPlaced, 1000)
		for i := range orders {
			orders[i] = OrderPlaced{OrderID: "A", Number: 1 + n + i}
		}
		_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, orders)
		Must(t, err)
	}
	<-all
	_, err := f.Publish(0)[0].Wait(t.Context())
	Must(t, err)
	if n := goruntime.NumGoroutine(); n > before+200 {
		t.Errorf("there are %d goroutines, and were %d before", n, before)
	}
	f.Stop()
	if got := queryFile(t, f.Path, "SELECT count(*) FROM busgen_deliveries WHERE suspended"); got != fmt.Sprint(sleepers) {
		t.Errorf("%s deliveries are suspended, want %d", got, sleepers)
	}
	var pages, size int
	Must(t, second(fmt.Sscan(queryFile(t, f.Path, "PRAGMA page_count"), &pages)))
	Must(t, second(fmt.Sscan(queryFile(t, f.Path, "PRAGMA page_size"), &size)))
	t.Logf("a sleeper has %d bytes with its event", pages*size/sleepers)
}

func second[T any](_ T, err error) error { return err }
