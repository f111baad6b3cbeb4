package inspect_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestAClockThatWasSetBackMakesNoRetryEndless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeManyDead(t, 20)
		execute(t, f.Path, "UPDATE busgen_deliveries SET dead_at = dead_at + 86400000000") // they died tomorrow
		i := f.Inspect()
		counts, err := i.Retry(t.Context(), inspect.Selection{Rate: 1}) // each dies again, today
		if counts != (inspect.Counts{Matched: 20, Moved: 20}) || err != nil {
			t.Errorf("retried %+v, %v", counts, err)
		}
		f.Settle()
		for _, l := range i.List(event.Filter{}) {
			if len(l.Attempts) != 4 {
				t.Errorf("%s was tried %d times, want twice more", l.Key, len(l.Attempts))
			}
		}
	})
}

// A letter whose last attempt has ended the process would do it again.
func TestADeadLetterOfACrashIsACanaryOnlyOnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeDead(t, 0, 1, 2)
		f.Repair()
		i := f.Inspect()
		execute(t, f.Path, "UPDATE busgen_deliveries SET reason = 'crash', suspect = 1 WHERE seq = (SELECT min(seq) FROM busgen_deliveries)")
		counts, err := i.Retry(t.Context(), inspect.Selection{Canary: 1, Limit: 1})
		f.Settle()
		if counts.Moved != 1 || err != nil || !slices.Equal(f.Seen(), []int{1}) {
			t.Errorf("retried %+v, %v, handled %v; want the oldest that did not crash", counts, err, f.Seen())
		}
		var none *inspect.CanaryError
		oldest := i.List(event.Filter{Reasons: []string{"crash"}})
		if counts, err := i.Retry(t.Context(), inspect.Selection{Canary: 1, Filter: event.Filter{Keys: []event.Key{oldest[0].Key}}}); counts.Moved != 0 || !errors.As(err, &none) {
			t.Errorf("with nothing but a crash letter: %+v, %v", counts, err)
		}
		counts, err = i.Retry(t.Context(), inspect.Selection{Canary: 1, Filter: event.Filter{Reasons: []string{"crash"}}})
		if counts.Moved != 1 || err != nil || !slices.Equal(f.Seen(), []int{1, 0}) {
			t.Errorf("asked for: %+v, %v, handled %v", counts, err, f.Seen())
		}
		counts, err = i.Retry(t.Context(), inspect.Selection{Canary: 1})
		f.Settle()
		if counts.Moved != 1 || err != nil || !slices.Equal(f.Seen(), []int{1, 0, 2}) {
			t.Errorf("the rest: %+v, %v, handled %v", counts, err, f.Seen())
		}
	})
}
