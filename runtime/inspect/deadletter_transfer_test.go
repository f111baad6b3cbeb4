package inspect_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestAnImportedEventIsDeliveredOnlyToTheSubscriptionsOfItsDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := SQLite.MakeDead(t, 1)
		line := from.Inspect().ExportText(event.Filter{})
		both := line + strings.Replace(line, `"worker"`, `"mirror"`, 1)

		to := SQLite.OpenJobs(t)
		seen := map[string]int{}
		listen := func(name string, opts ...runtime.SubscribeOption) {
			Must(t, Second(runtime.SubscribePattern(to.Bus, "*", name, func(context.Context, runtime.Event[runtime.Raw]) error {
				seen[name]++
				return nil
			}, opts...)))
		}
		listen("mirror")
		listen("bystander")
		i := to.Inspect()
		if got := i.Load(both); got != (inspect.Counts{Matched: 2, Moved: 2}) {
			t.Errorf("imported %+v", got)
		}
		if got := queryRow(t, to.Path, "SELECT count(*), min(status) FROM events"); got != "1|dlq" {
			t.Errorf("the events are %s", got)
		}
		listen("late", runtime.FromBeginning())
		to.Settle()
		if len(seen) != 0 {
			t.Errorf("an event that nobody has retried was handled: %v", seen)
		}
		Must(t, Second(i.Retry(t.Context(), inspect.Selection{})))
		to.Settle()
		if seen["mirror"] != 1 || len(seen) != 1 || len(to.Seen()) != 1 {
			t.Errorf("handled %v and %v, want once by each that had failed", seen, to.Seen())
		}
		if got := queryRow(t, to.Path, "SELECT count(*), min(status) FROM events"); got != "1|done" {
			t.Errorf("the events are %s", got)
		}
	})
}

func TestAnImportRestoresPurgedDeadLettersAndSkipsOpenOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeDead(t, 1, 2, 3, 4)
		i := f.Inspect()
		lines := i.ExportText(event.Filter{})
		letters := i.List(event.Filter{})
		f.Stop()
		Must(t, Second(i.Purge(t.Context(), inspect.Selection{Filter: event.Filter{Until: letters[3].DeadAt}}))) // 1
		Must(t, Second(i.Retry(t.Context(), inspect.Only(letters[2].Key))))                                      // 2
		Must(t, Second(i.DiscardDeadLetters(t.Context(), inspect.Only(letters[1].Key), "nobody cares")))         // 3
		if got := i.Load(lines); got != (inspect.Counts{Matched: 4, Moved: 1, Skipped: 3}) {
			t.Errorf("imported %+v", got)
		}
		if got := NumbersOf(i.List(event.Filter{})); !slices.Equal(got, []int{4, 1}) {
			t.Errorf("the letters are %v, want 4 and 1", got)
		}
		if got := queryRow(t, f.Path, "SELECT count(*), (SELECT count(*) FROM busgen_origins) FROM busgen_log"); got != "4|0" {
			t.Errorf("events and origins are %s, want those that were there", got)
		}
	})
}

func TestADeadLetterThatWasNeverTriedStaysDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeDead(t, 1)
		execute(t, f.Path, "DELETE FROM busgen_attempts; UPDATE busgen_deliveries SET reason = 'expired'")
		i := f.Inspect()
		line := i.ExportText(event.Filter{})
		Must(t, Second(i.DiscardDeadLetters(t.Context(), inspect.Selection{}, "nobody cares")))
		if got := i.Load(line); got != (inspect.Counts{Matched: 1, Skipped: 1}) {
			t.Errorf("imported %+v from %s", got, line)
		}
	})
}

func TestADeadLetterOfAnEventThatHasYetToBeDeliveredIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeDead(t, 1)
		i := f.Inspect()
		line := i.ExportText(event.Filter{})
		f.Stop()
		// The subscription's cursor is set back, as in an older copy of the file.
		execute(t, f.Path, "DELETE FROM busgen_deliveries; DELETE FROM busgen_attempts; UPDATE busgen_subscriptions SET cursor = 0")
		if got := i.Load(line); got != (inspect.Counts{Matched: 1, Skipped: 1}) {
			t.Errorf("imported %+v", got)
		}
	})
}

func TestAPayloadIsKeptByteForByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for stored, want := range map[string]string{
			`'{"number":1,"note":"<&\u2028>"}'`: `{"number":1,"note":"<&\u2028>"}`,
			`CAST(x'7b00ff22' AS TEXT)`:         "{\x00\xff\"", // no JSON at all
		} {
			f := SQLite.MakeDead(t, 1)
			execute(t, f.Path, "UPDATE busgen_log SET payload = "+stored)
			line := f.Inspect().ExportText(event.Filter{})
			i := SQLite.OpenJobs(t).Inspect()
			i.Load(line)
			if got := i.Newest().Payload; string(got) != want {
				t.Errorf("the payload is %q from %s", got, line)
			}
		}
	})
}
