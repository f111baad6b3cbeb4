package edit_test

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/edit"
)

const limited = `version: 1
package: shop

limits:
  mail: { rate: 100 per 1m }
  bank: { at_once: 3 }

policies:
  order.*: { limits: [{ limit: mail, by: name.name }] }

types:
  Name: { fields: { name: string, other: string } }

events:
  order.placed:
    payload: { name: Name, other: Name }
    subscriptions:
      a: { limits: [bank, { limit: mail, by: 'other.name' }] }
      b: { limits: [{ limit: mail, by: name.other }] }
  order.paid:
    payload: { name: Name }
  user.left:
    limits:
      - limit: bank
        by: "name" # of the user
    payload: { name: string }
`

func TestAFieldIsRenamedWhereLimitsCountByIt(t *testing.T) {
	for path, want := range map[string]*strings.Replacer{
		"Name.name": strings.NewReplacer("by: name.name", "by: name.title", "by: 'other.name'", "by: 'other.title'",
			"{ name: string, other: string }", "{ title: { type: string, was: name }, other: string }"),
		"order.placed.other": strings.NewReplacer("by: 'other.name'", "by: 'title.name'",
			"{ name: Name, other: Name }", "{ name: Name, title: { type: Name, was: other } }"),
		"user.left.name": strings.NewReplacer(`by: "name"`, `by: "title"`, "payload: { name: string }", "payload: { title: { type: string, was: name } }"),
	} {
		change, err := edit.RenameField(one(limited), path, "title")
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got := string(change.Files[0].Text); got != want.Replace(limited) {
			t.Errorf("%s:\n%s", path, got)
		}
	}
}

// A policy counts by the field of one name for all its events.
func TestAFieldByWhichOtherEventsAreLimitedIsNotRenamed(t *testing.T) {
	_, err := edit.RenameField(one(limited), "order.placed.name", "title")
	if err == nil || !strings.Contains(err.Error(), "limit mail is by title.name, but the payload of event order.paid has no field title") {
		t.Errorf("%v", err)
	}
}

func TestLimitsAreFormatted(t *testing.T) {
	got, err := edit.Format([]byte("version: 1\npackage: p\nevents:\n  e:\n    limits: [ bank,{by: id, limit: mail} ]\n    timeout: 1s\nlimits:\n  bank: {at_once: 3, doc: Few.}\n" +
		"  mail:\n    rate: 5 per 1s\n    doc: Slow.\n"))
	want := "version: 1\npackage: p\nlimits:\n  bank: { doc: Few., at_once: 3 }\n  mail:\n    doc: Slow.\n    rate: 5 per 1s\n" +
		"events:\n  e:\n    limits: [bank, { limit: mail, by: id }]\n    timeout: 1s\n"
	if string(got) != want || err != nil {
		t.Errorf("%s%v", got, err)
	}
}
