package inspection

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func (env *Env) TestTheAuditOfADeadLetterListsWhatWasDoneToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeDead(t, 1, 2)
		i := f.Inspect()
		key := i.Newest().Key
		Must(t, Second(i.Retry(t.Context(), inspect.Only(key))))
		f.Settle() // it dies again
		letter, err := i.DeadLetter(t.Context(), key)
		Must(t, err)
		if len(letter.Audit) != 1 || letter.Audit[0].Action != "retry" || letter.Audit[0].EventID != key.EventID {
			t.Errorf("its audit is %+v", letter.Audit)
		}
	})
}

func (env *Env) TestTheActorIsTheUserOfTheProcessByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeDead(t, 1)
		i, err := env.OpenFile(t.Context(), f.Path)
		Must(t, err)
		defer i.Close()
		Must(t, Second(i.DiscardDeadLetters(t.Context(), inspect.Selection{}, "old")))
		entries, _, err := i.Audit(t.Context(), event.AuditFilter{}, event.Page{})
		Must(t, err)
		if len(entries) != 1 || entries[0].Actor == "" || strings.HasPrefix(entries[0].Actor, "@") {
			t.Errorf("the audit is %+v", entries)
		}
	})
}

func (env *Env) TestTheNoteOfASelectionIsInTheAuditBehindTheFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeDead(t, 1, 2)
		i := f.Inspect()
		Must(t, Second(i.Retry(t.Context(), inspect.Selection{Filter: event.Filter{Reasons: []string{"max_attempts"}}, Limit: 1, Note: "ticket 17"})))
		Must(t, Second(i.DiscardDeadLetters(t.Context(), inspect.Selection{Limit: 1, Note: "ticket 18"}, "a test")))
		want := []string{"ada discard 1: a test (all; ticket 18)", "ada retry 1: reason max_attempts; ticket 17"}
		if got := i.Actions(); !slices.Equal(got, want) {
			t.Errorf("the audit has %q, want %q", got, want)
		}
	})
}
