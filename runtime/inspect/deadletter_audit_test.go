package inspect_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/inspect"
)

func TestEveryActionOfAnOperatorIsInTheAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := buryMany(t, 250)
		i := f.inspect(editing)
		lines := i.export(inspect.Filter{})
		letters := i.list(inspect.Filter{})
		must(t, second(i.Retry(t.Context(), inspect.Only(letters[0].Key))))
		must(t, second(i.Edit(t.Context(), letters[1].Key, []byte(`{"number":1000}`))))
		must(t, second(i.DiscardDeadLetters(t.Context(), inspect.Selection{Limit: 120}, "too old")))
		must(t, second(i.Purge(t.Context(), inspect.Selection{Filter: inspect.Filter{Until: time.Now()}})))
		i.load(lines)
		i.load(lines) // adds nothing
		must(t, second(i.Retry(t.Context(), inspect.Selection{Filter: inspect.Filter{Text: "there is none"}})))

		entries, next, err := i.Audit(t.Context(), inspect.AuditFilter{}, inspect.Page{Limit: 3})
		must(t, err)
		older, end, err := i.Audit(t.Context(), inspect.AuditFilter{}, inspect.Page{After: next})
		must(t, err)
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
		counts := strings.Fields(queryRow(t, f.path, "SELECT group_concat(count, ' ') FROM audit"))
		if want := []string{"1", "1", "120", "128", "128"}; !slices.Equal(counts, want) {
			t.Errorf("they concern %v deliveries, want %v: one entry per action, whatever its steps", counts, want)
		}
		for n, key := range []inspect.Key{letters[0].Key, letters[1].Key} {
			if e := older[len(older)-1-n]; e.EventID != key.EventID || e.Subscription != key.Subscription {
				t.Errorf("the entry of an action on one letter is %+v, want %v", e, key)
			}
		}
	})
}

func TestTheAuditOfALetterIsWhatWasDoneToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bury(t, 1, 2)
		i := f.inspect()
		key := i.newest().Key
		must(t, second(i.Retry(t.Context(), inspect.Only(key))))
		f.settle() // it dies again
		letter, err := i.DeadLetter(t.Context(), key)
		must(t, err)
		if len(letter.Audit) != 1 || letter.Audit[0].Action != "retry" || letter.Audit[0].EventID != key.EventID {
			t.Errorf("its audit is %+v", letter.Audit)
		}
	})
}

func TestTheActorIsWhoRunsTheProcessUnlessNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bury(t, 1)
		i, err := inspect.Open(t.Context(), f.path)
		must(t, err)
		defer i.Close()
		must(t, second(i.DiscardDeadLetters(t.Context(), inspect.Selection{}, "old")))
		entries, _, err := i.Audit(t.Context(), inspect.AuditFilter{}, inspect.Page{})
		must(t, err)
		if len(entries) != 1 || entries[0].Actor == "" || strings.HasPrefix(entries[0].Actor, "@") {
			t.Errorf("the audit is %+v", entries)
		}
	})
}
