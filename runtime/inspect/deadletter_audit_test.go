package inspect_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestEveryActionOfAnOperatorIsInTheAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.MakeManyDead(t, 250)
		i := f.Inspect(Editing)
		lines := i.ExportText(event.Filter{})
		letters := i.List(event.Filter{})
		Must(t, Second(i.Retry(t.Context(), inspect.Only(letters[0].Key))))
		Must(t, Second(i.Edit(t.Context(), letters[1].Key, []byte(`{"number":1000}`))))
		Must(t, Second(i.DiscardDeadLetters(t.Context(), inspect.Selection{Limit: 120}, "too old")))
		Must(t, Second(i.Purge(t.Context(), inspect.Selection{Filter: event.Filter{Until: time.Now()}})))
		i.Load(lines)
		i.Load(lines) // adds nothing
		Must(t, Second(i.Retry(t.Context(), inspect.Selection{Filter: event.Filter{Text: "there is none"}})))

		entries, next, err := i.Audit(t.Context(), event.AuditFilter{}, event.Page{Limit: 3})
		Must(t, err)
		older, end, err := i.Audit(t.Context(), event.AuditFilter{}, event.Page{After: next})
		Must(t, err)
		if len(entries) != 3 || next == "" || end != "" {
			t.Errorf("the first page has %d entries and goes on at %q; the second ends with %q", len(entries), next, end)
		}
		var got []string
		for _, e := range append(entries, older...) {
			got = append(got, e.Action)
			if e.Actor != "ada" || e.At.IsZero() {
				t.Errorf("the entry is %+v", e)
			}
		}
		if want := []string{"import", "purge", "discard", "edit", "retry"}; !slices.Equal(got, want) {
			t.Fatalf("the actions are %v, want %v", got, want)
		}
		counts := strings.Fields(queryRow(t, f.Path, "SELECT group_concat(count, ' ') FROM busgen_audit"))
		if want := []string{"1", "1", "120", "128", "128"}; !slices.Equal(counts, want) {
			t.Errorf("they concern %v deliveries, want %v: one entry per action, whatever its steps", counts, want)
		}
		for n, key := range []event.Key{letters[0].Key, letters[1].Key} {
			if e := older[len(older)-1-n]; e.EventID != key.EventID || e.Subscription != key.Subscription {
				t.Errorf("the entry of an action on one letter is %+v, want %v", e, key)
			}
		}
	})
}
