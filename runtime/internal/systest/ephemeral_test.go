package systest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

// rowsOf returns how many rows each table of a file has.
func rowsOf(t *testing.T, path string) (counts map[string]string) {
	t.Helper()
	counts = map[string]string{}
	for table := range strings.SplitSeq(queryFile(t, path, "SELECT group_concat(name) FROM sqlite_schema WHERE type = 'table'"), ",") {
		counts[table] = queryFile(t, path, "SELECT count(*) FROM "+table)
	}
	return counts
}

func TestEphemeralSubscriptionsLeaveNothingInTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.MustStart()
		f.Publish(1, 2)
		f.Idle()
		before := rowsOf(t, f.Path)
		var handled atomic.Int32
		for i := range 300 {
			s := f.Handle(fmt.Sprint("socket ", i), func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				handled.Add(1)
				if e.Payload.Number%2 == 0 {
					return ErrBoom
				}
				return nil
			}, runtime.Ephemeral(), runtime.WithRetry(retry.MaxAttempts(1+i%3)))
			if i == 150 {
				f.Publish(3, 4)
				time.Sleep(time.Minute)
			}
			if i != 150 {
				Must(t, s.Unsubscribe(t.Context()))
			}
		}
		if handled.Load() == 0 {
			t.Error("nothing was handled")
		}
		time.Sleep(time.Second)
		after := rowsOf(t, f.Path)
		if before["busgen_log"] != "2" || after["busgen_log"] != "4" {
			t.Errorf("the log has %s events, later %s", before["busgen_log"], after["busgen_log"])
		}
		delete(before, "busgen_log")
		if delete(after, "busgen_log"); !maps.Equal(before, after) {
			t.Errorf("the file had %v, and has %v", before, after)
		}
	})
}

func TestAnEditedDeadLetterIsForItsSubscriptionAndNotForEphemeralOnes(t *testing.T) {
	f := SQLite.Open(t)
	var all, durable Journal[int]
	f.Handle("durable", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		durable.Add(e.Payload.Number)
		if e.Payload.Number == 1 {
			return runtime.Permanent(ErrBoom)
		}
		return nil
	})
	f.Handle("", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		all.Add(e.Payload.Number)
		return nil
	}, runtime.Ephemeral())
	f.MustStart()
	f.Publish(1)
	f.Idle()
	file, err := inspect.Open(t.Context(), f.Path, inspect.WithEditing(func(string, int, []byte) error { return nil }))
	Must(t, err)
	defer file.Close()
	letters, _, err := file.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	if err != nil || len(letters) != 1 {
		t.Fatal(letters, err)
	}
	_, err = file.Edit(t.Context(), letters[0].Key, []byte(`{"order_id":"A","number":2,"weight":0}`))
	Must(t, err)
	eventually(t, "the edited event is handled", func() bool { return slices.Equal(durable.All(), []int{1, 2}) })
	f.Publish(3)
	eventually(t, "the next event is handled", func() bool { return slices.Contains(all.All(), 3) })
	if got := all.All(); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("the ephemeral subscription has %v, want what was published: 1 and 3", got)
	}
}

func TestAnEphemeralSubscriptionGoesOnAtTheEndOfABackupThatIsRestored(t *testing.T) {
	f := SQLite.Open(t)
	var seen Journal[int]
	f.Handle("", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		seen.Add(e.Payload.Number)
		if e.Payload.Number == 3 {
			<-ctx.Done()
			seen.Add(-3)
			return context.Cause(ctx)
		}
		return nil
	}, runtime.Ephemeral(), runtime.WithTimeout(time.Hour))
	f.Publish(1)
	eventually(t, "1 is handled", func() bool { return len(seen.All()) == 1 })
	backup := backUp(t, f)
	f.Publish(2, 3)
	eventually(t, "3 is being handled", func() bool { return len(seen.All()) == 3 })
	restoreInto(t, f.Path, backup)
	eventually(t, "its handler is interrupted", func() bool { return len(seen.All()) == 4 })
	n := 100
	eventually(t, "an event after the restore is handled", func() bool {
		n++
		f.Publish(n) // some before the bus has noticed
		return slices.ContainsFunc(seen.All()[4:], func(got int) bool { return got > 100 })
	})
	if got := seen.All(); !slices.Equal(got[:4], []int{1, 2, 3, -3}) || slices.ContainsFunc(got[4:], func(n int) bool { return n <= 100 }) {
		t.Errorf("handled %v, want nothing twice", got)
	}
}
