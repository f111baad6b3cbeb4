package edit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/edit"
)

const scheduled = `version: 1
package: shop
types:
  Kind: { enum: [nightly, weekly] }
  Span: { fields: { days: int } }
events:
  report.requested:
    payload: { kind: Kind, spans: "[]Span", note: "string?" }
  cache.expired: {}
schedules:
  nightly:
    event: report.requested # nightly
    cron: "0 3 * * *"
    payload: { kind: nightly, spans: [{ days: 1 }, { days: 7 }], note: nightly }
  report.requested: { event: cache.expired, every: 1h } # a name of its own
`

// What a schedule says of an event follows the names of the event.
func TestRenamingReachesSchedules(t *testing.T) {
	for name, test := range map[string]struct {
		rename func(c *edit.Catalogue) (*edit.Change, error)
		want   *strings.Replacer
	}{
		"an event": {
			func(c *edit.Catalogue) (*edit.Change, error) {
				return edit.RenameEvent(c, "report.requested", "report.asked")
			},
			strings.NewReplacer("  report.requested:\n", "  report.asked:\n    aliases: [report.requested]\n", "event: report.requested", "event: report.asked"),
		},
		"a field of its payload": {
			func(c *edit.Catalogue) (*edit.Change, error) {
				return edit.RenameField(c, "report.requested.note", "remark")
			},
			strings.NewReplacer(`note: "string?"`, `remark: { type: "string?", was: note }`, "note: nightly", "remark: nightly"),
		},
		"a field of a type": {
			func(c *edit.Catalogue) (*edit.Change, error) { return edit.RenameField(c, "Span.days", "length") },
			strings.NewReplacer("days: int", "length: { type: int, was: days }", "days: 1", "length: 1", "days: 7", "length: 7"),
		},
		"a value of an enum": {
			func(c *edit.Catalogue) (*edit.Change, error) { return edit.RenameValue(c, "Kind", "nightly", "daily") },
			strings.NewReplacer("[nightly,", "[daily,", "kind: nightly", "kind: daily"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			change, err := test.rename(one(scheduled))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want.Replace(scheduled), string(change.Files[0].Text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The schedule may be in another file than its event.
func TestARenamedEventReachesAScheduleInAnotherFile(t *testing.T) {
	root, rest, _ := strings.Cut(scheduled, "schedules:\n")
	c := several(root+"include: [payments.yaml]\n", "version: 1\nschedules:\n"+rest)
	change, err := edit.RenameEvent(c, "report.requested", "report.asked")
	if err != nil {
		t.Fatal(err)
	}
	if len(change.Files) != 2 || !strings.Contains(string(change.Files[1].Text), "event: report.asked") {
		t.Errorf("changed: %+v", change)
	}
}
