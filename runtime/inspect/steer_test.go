package inspect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

func TestEveryChangeLeavesAnAuditRow(t *testing.T) {
	f := SQLite.Open(t)
	f.Subscribe("printer", Fine)
	Must(t, f.File.PauseSubscription(t.Context(), "printer", ""))
	Must(t, f.File.PauseSubscription(t.Context(), "printer", "")) // changes nothing
	Must(t, f.File.ResumeSubscription(t.Context(), "printer"))
	Must(t, f.File.PauseTypes(t.Context(), "order.*", ""))
	Must(t, f.File.ResumeTypes(t.Context(), "order.*"))
	f.Stop()
	_, err := f.File.RemoveSubscription(t.Context(), "printer")
	Must(t, err)
	want := []string{
		"ada|pause|printer|0|", "ada|resume|printer|0|", "ada|pause||0|events of type order.*", "ada|resume||0|events of type order.*",
		"ada|remove|printer|0|0 events to settle and 0 dead letters",
	}
	if got := query(t, f.Path, "SELECT actor, action, subscription, count, detail FROM busgen_audit ORDER BY id"); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestWithoutANameTheActorIsTheUser(t *testing.T) {
	f := SQLite.Open(t)
	file, err := inspect.Open(t.Context(), f.Path)
	Must(t, err)
	defer file.Close()
	Must(t, file.PauseTypes(t.Context(), "order.*", ""))
	if got := query(t, f.Path, "SELECT actor FROM busgen_audit"); len(got) != 1 || !strings.Contains(got[0], "@") {
		t.Errorf("the actor is %q, want user@host", got)
	}
}
