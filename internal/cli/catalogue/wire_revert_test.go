package catalogue

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/short"
)

// A commit that takes back another one ("git revert") has the record of before, and nobody has
// generated it: what was published in between is stored all the same.
func TestEventsOfARevertedCommitAreStillStored(t *testing.T) {
	short.Skip(t, "programs are compiled")
	const from = "  order.paid:\n    payload:\n      number: int\n"
	for name, test := range map[string]struct{ to, refused, reserved string }{
		"a field":          {to: from + "      note: string?\n", reserved: `reserved event order.paid 1 note: "string?"`},
		"a renamed field":  {to: "  order.paid:\n    payload:\n      total: { type: int, was: number }\n", refused: "[was-moved order.paid 1 number]"},
		"a wider type":     {to: "  order.paid:\n    payload:\n      number: float64\n", refused: "[type-changed order.paid 1 number float64->int]"},
		"an event":         {to: from + "  order.x: {}\n", refused: "[event-removed order.x]"},
		"a version":        {to: "  order.paid:\n    version: 2\n    history: { 1: { payload: { number: int } } }\n    payload: {}\n", refused: "[version-lowered order.paid 2->1]"},
		"an accepted type": {to: strings.Replace(from, "int", "string", 1), refused: "[type-changed order.paid 1 number string->int]"},
	} {
		for _, later := range []string{"", "as a pull request", "after more of them"} {
			t.Run(strings.TrimSpace(name+" "+later), func(t *testing.T) {
				generated(t, "events.yaml", mergeCatalogue)
				change := func(text string) {
					t.Helper()
					rewrite(t, text)
					busgen(t, "-q --accept-wire").Wants(t, 0, "", "")
					gits(t, "add .", "commit -q -m change")
				}
				change(strings.Replace(mergeCatalogue, from, test.to, 1))
				more := ""
				switch later {
				case "as a pull request":
					gits(t, "checkout -q -b back", "revert --no-edit HEAD", "checkout -q main", "merge -q --no-ff --no-edit back")
				case "after more of them":
					change(strings.Replace(mergeCatalogue, from, test.to+"  order.y: {}\n", 1))
					more = "[event-removed order.y]"
					gits(t, "revert --no-edit HEAD HEAD^")
				default:
					gits(t, "revert --no-edit HEAD")
				}
				if got := busgen(t, "check"); got.Status != cli.StatusNo || !strings.Contains(got.Stderr+got.Stdout, cmp.Or(test.refused, more, test.reserved)) {
					t.Fatalf("%+v", got)
				}
				if test.refused+more != "" {
					busgen(t, "").WantsErrors(t, cli.StatusNo, cmp.Or(test.refused, more))
				}
				// It can be accepted, and is not asked for again.
				busgen(t, "-q --accept-wire").Wants(t, 0, "", "")
				if got := busgen(t, "check"); got.Status != 0 {
					t.Errorf("%+v", got)
				}
				gits(t, "commit -q -a -m accepted")
				text := read(t, "wire.golden")
				if !strings.Contains(text, test.reserved+"\n") {
					t.Errorf("%s is missing in\n%s", test.reserved, text)
				}
				busgen(t, "check").Wants(t, 0, "", "")
				busgen(t, "-q").Wants(t, 0, "", "")
				if read(t, "wire.golden") != text {
					t.Errorf("another record:\n%s", read(t, "wire.golden"))
				}
			})
		}
	}
}

// A change that the catalogue accepts is not asked for again when the reason has been removed from it.
func TestAnAcceptedChangeIsNotTakenForARevert(t *testing.T) {
	changed := strings.Replace(mergeCatalogue, "number: int", "number: string", 1)
	generated(t, "events.yaml", mergeCatalogue)
	rewrite(t, strings.Replace(changed, "events:", "accepted: { type-changed order.placed 1 number int->string: All rows are deleted. }\nevents:", 1))
	busgen(t, "-q").Wants(t, 0, "", "")
	gits(t, "commit -q -a -m changed")
	busgen(t, "check").Wants(t, 0, "", "")
	rewrite(t, changed)
	busgen(t, "-q").Wants(t, 0, "", "")
	gits(t, "commit -q -a -m cleared")
	busgen(t, "check").Wants(t, 0, "", "")
}

// A line of a newer busgen cannot be accepted in the catalogue, and nobody says so.
func TestALineThatCannotBeReadIsNotAcceptedInTheCatalogue(t *testing.T) {
	generated(t, "events.yaml", mergeCatalogue)
	must(t, os.WriteFile("wire.golden", []byte(read(t, "wire.golden")+"event order.paid retention: \"5d\"\n"), 0o600))
	gits(t, "commit -q -a -m newer")
	if got := busgen(t, "check"); got.Status != cli.StatusNo || !strings.Contains(got.Stderr, "generate with --accept-wire") || strings.Contains(got.Stderr, "to accept one") {
		t.Errorf("%+v", got)
	}
}
