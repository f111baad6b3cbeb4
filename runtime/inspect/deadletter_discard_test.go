package inspect_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestADiscardedDeadLetterIsSettledWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.OpenJobs(t)
		f.Failing(Broken)
		receipts := f.Publish(1, 2, 3)
		i := f.Inspect()
		key := event.Key{EventID: receipts[1].ID, Subscription: "worker"}
		counts, err := i.DiscardDeadLetters(t.Context(), inspect.Only(key), "a test order")
		if counts != (inspect.Counts{Matched: 1, Moved: 1}) || err != nil {
			t.Errorf("discarded %+v, %v", counts, err)
		}
		time.Sleep(time.Second)
		outcome, err := receipts[1].Wait(t.Context())
		Must(t, err)
		if d := outcome.Deliveries[0]; !d.Discarded || d.Dead || d.Reason != "a test order" || d.Failures != 2 || outcome.Err() != nil {
			t.Errorf("the outcome is %+v", outcome)
		}
		if got := queryRow(t, f.Path, "SELECT status FROM events WHERE payload = '{\"number\":2}'"); got != "done" {
			t.Errorf("the event is %s", got)
		}

		counts, err = i.DiscardDeadLetters(t.Context(), inspect.Selection{Filter: event.Filter{Types: []string{"job.*"}}}, "all test orders")
		if counts != (inspect.Counts{Matched: 2, Moved: 2}) || err != nil || i.Count() != 0 {
			t.Errorf("discarded %+v, %v", counts, err)
		}
		f.Repair()
		f.Settle()
		if got := f.Seen(); got != nil {
			t.Errorf("handled %v", got)
		}
		if got, want := i.Actions(), []string{
			"ada discard 2: all test orders (type job.*)", "ada discard 1: a test order (dead letter " + key.String() + ")",
		}; !slices.Equal(got, want) {
			t.Errorf("the audit says %q", got)
		}
	})
}

func TestPurgingDeletesDeadLettersUpToTheCutoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeDead(t, 1, 2, 3, 4)
		i := f.Inspect()
		letters := i.List(event.Filter{})
		until := func(l event.DeadLetter, limit int) inspect.Selection {
			return inspect.Selection{Limit: limit, Filter: event.Filter{Until: l.DeadAt}}
		}
		counts, err := i.Purge(t.Context(), until(letters[2], 0))
		if left := i.List(event.Filter{}); counts != (inspect.Counts{Matched: 2, Moved: 2}) || err != nil || !slices.Equal(NumbersOf(left), []int{4, 3}) {
			t.Errorf("purged %+v (%v) and left %v, want 2 and the newer ones", counts, err, NumbersOf(left))
		}
		counts, err = i.Purge(t.Context(), until(letters[0], 1))
		if left := i.List(event.Filter{}); counts != (inspect.Counts{Matched: 2, Moved: 1}) || err != nil || !slices.Equal(NumbersOf(left), []int{4}) {
			t.Errorf("purged %+v (%v) and left %v, want the older one", counts, err, NumbersOf(left))
		}
		if got := queryRow(t, f.Path, "SELECT count(*), (SELECT count(*) FROM busgen_attempts) FROM busgen_log"); got != "4|2" {
			t.Errorf("there are %s events and attempts, want all events and the attempts of the last letter", got)
		}
	})
}
