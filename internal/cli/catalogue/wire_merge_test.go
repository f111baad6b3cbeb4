package catalogue

import (
	"os"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/cli"
)

const mergeCatalogue = `version: 1
package: shop
events:
  order.placed:
    payload:
      number: int
  order.paid:
    payload:
      number: int
`

// branch makes a branch of main with another catalogue, generated and checked in.
func branch(t *testing.T, name, text string) {
	t.Helper()
	gits(t, "checkout -q main", "checkout -q -b "+name)
	rewrite(t, text)
	busgen(t, "-q").Wants(t, 0, "", "")
	gits(t, "commit -q -a -m "+name)
}

// conflicts lists the files that git could not merge.
func conflicts(t *testing.T) string {
	t.Helper()
	out, err := gitIn(t, "diff", "--name-only", "--diff-filter=U")
	must(t, err)
	return out
}

func TestBranchesThatEachAddSomethingAreMerged(t *testing.T) {
	for name, test := range map[string]struct{ from, ours, theirs, merged string }{
		"an event": {
			from: "  order.paid:", ours: "  order.shipped: {}\n  order.paid:", theirs: "  order.returned:\n    payload:\n      number: int\n      why: string\n  order.paid:",
			merged: "  order.shipped: {}\n  order.returned:\n    payload:\n      number: int\n      why: string\n  order.paid:",
		},
		"an event, side by side": {from: "  order.paid:", ours: "  order.x: {}\n  order.paid:", theirs: "  order.y: {}\n  order.paid:", merged: "  order.x: {}\n  order.y: {}\n  order.paid:"},
		"a field": {
			from: "      number: int\n  order.paid", ours: "      number: int\n      note: string?\n  order.paid", theirs: "      number: int\n      total: int?\n  order.paid",
			merged: "      number: int\n      note: string?\n      total: int?\n  order.paid",
		},
		"a field to different events": {
			from: "      number: int\n", ours: "      number: int\n      note: string?\n", theirs: "      number: int\n      total: int?\n", merged: "      number: int\n      note: string?\n      total: int?\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			generated(t, "events.yaml", mergeCatalogue)
			must(t, os.WriteFile(".gitattributes", []byte("wire.golden merge=union\n"), 0o600))
			gits(t, "add .", "commit -q -m attributes")
			side := func(to string) string { return strings.Replace(mergeCatalogue, test.from, to, 1) }
			branch(t, "ours", side(test.ours))
			branch(t, "theirs", side(test.theirs))
			gits(t, "checkout -q ours")
			out, err := gitIn(t, "merge", "--no-edit", "theirs")
			if strings.Contains(conflicts(t), "wire.golden") || strings.Contains(read(t, "wire.golden"), "<<<<") {
				t.Fatalf("%v %s", err, out)
			}
			rewrite(t, side(test.merged)) // by hand; generated code has conflicts too, and is generated
			if got := busgen(t, ""); got.Status != 0 || strings.Contains(got.Stdout, "[") {
				t.Errorf("%+v", got)
			}
			busgen(t, "check").Wants(t, 0, "", "")
			gits(t, "add .", "commit -q --allow-empty -m merged")
			busgen(t, "check").Wants(t, 0, "", "")
			busgen(t, "").Wants(t, 0, busgen(t, "").Stdout, "")
			for _, branch := range []string{"ours", "theirs"} { // what both have is still in the record
				text, err := gitIn(t, "show", branch+":wire.golden")
				must(t, err)
				for line := range strings.Lines(text) {
					if !strings.Contains(read(t, "wire.golden"), line) {
						t.Errorf("%s of %s is lost", line, branch)
					}
				}
			}
		})
	}
}

// In the middle of a merge the records of both sides count, whatever lies in the folder.
func TestAMergeThatLosesWhatOneSideHasIsRefused(t *testing.T) {
	generated(t, "events.yaml", mergeCatalogue)
	ours := strings.Replace(mergeCatalogue, "  order.paid:", "  order.x: {}\n  order.paid:", 1)
	theirs := strings.Replace(mergeCatalogue, "  order.paid:", "  order.y: {}\n  order.paid:", 1)
	branch(t, "ours", ours)
	branch(t, "theirs", theirs)
	gits(t, "checkout -q ours")
	if out, err := gitIn(t, "merge", "--no-edit", "theirs"); err == nil {
		t.Fatal(out)
	}
	for _, side := range []struct{ option, text, gone, from string }{{"--ours", ours, "order.y", "THEIRS:wire.golden:"}, {"--theirs", theirs, "order.x", "HEAD:wire.golden:"}} {
		gits(t, "checkout "+side.option+" .")
		theirs, err := gitIn(t, "rev-parse", "--short=12", "theirs")
		must(t, err)
		from := strings.Replace(side.from, "THEIRS", strings.TrimSpace(theirs), 1)
		for _, verb := range []string{"", "check"} {
			busgen(t, verb).WantsErrors(t, cli.StatusNo, "event "+side.gone+" is gone", "  "+from, "event "+side.gone+" version: 1")
		}
		os.Remove("wire.golden")
		busgen(t, "").WantsErrors(t, cli.StatusNo, "event "+side.gone+" is gone")
	}
	rewrite(t, strings.Replace(ours, "  order.paid:", "  order.y: {}\n  order.paid:", 1))
	busgen(t, "-q").Wants(t, 0, "", "")
	gits(t, "add .", "commit -q -m merged")
	busgen(t, "check").Wants(t, 0, "", "")
}

// What one branch has accepted is not asked for again, in a merge or when it is applied to another
// commit; what neither has is.
func TestAChangeThatABranchHasAcceptedIsAccepted(t *testing.T) {
	for _, command := range []string{"merge --no-edit theirs", "cherry-pick theirs", "rebase ours theirs"} {
		t.Run(command, func(t *testing.T) {
			generated(t, "events.yaml", mergeCatalogue)
			branch(t, "ours", strings.Replace(mergeCatalogue, "  order.paid:", "  order.x: {}\n  order.paid:", 1))
			gits(t, "checkout -q main", "checkout -q -b theirs")
			rewrite(t, strings.Replace(mergeCatalogue, "      number: int\n", "      number: string\n", 1))
			busgen(t, "-q --accept-wire").Wants(t, 0, "", "")
			gits(t, "commit -q -a -m theirs", "checkout -q ours")
			if out, err := gitIn(t, strings.Fields(command)...); err == nil {
				t.Fatal(out)
			}
			merged := strings.Replace(strings.Replace(mergeCatalogue, "      number: int\n", "      number: string\n", 1), "  order.paid:", "  order.x: {}\n  order.paid:", 1)
			rewrite(t, merged)
			busgen(t, "-q").Wants(t, 0, "", "")
			rewrite(t, strings.Replace(merged, "number: int", "number: bool", 1))
			busgen(t, "").WantsErrors(t, cli.StatusNo, "[type-changed order.paid 1 number int->bool]")
			rewrite(t, strings.Replace(merged, "number: string", "number: int", 1))
			busgen(t, "").WantsErrors(t, cli.StatusNo, "[type-changed order.placed 1 number string->int]")
		})
	}
}

// A conflict of the headers, or anywhere else in generated files, is no reason to ask somebody.
func TestConflictsInGeneratedFilesAreGenerated(t *testing.T) {
	generated(t, "events.yaml", mergeCatalogue)
	for _, name := range []string{"wire.golden", "payloads.gen.go", "publish.gen.go"} {
		text := read(t, name)
		must(t, os.WriteFile(name, []byte("<<<<<<< HEAD\n"+text+"=======\n"+text+">>>>>>> theirs\n"), 0o600))
	}
	busgen(t, "-q").Wants(t, 0, "", "")
	if out, err := gitIn(t, "diff", "--exit-code"); err != nil {
		t.Error(out)
	}
}

// Somebody has taken the record of one side and checked that in. What the other side had is still recorded,
// until code is generated again.
func TestAMergeThatWasCheckedInWithTheRecordOfOneSide(t *testing.T) {
	generated(t, "events.yaml", mergeCatalogue)
	x := strings.Replace(mergeCatalogue, "  order.paid:", "  order.x: { payload: { n: int } }\n  order.paid:", 1)
	both := strings.Replace(x, "  order.paid:", "  order.y: { payload: { n: int } }\n  order.paid:", 1)
	branch(t, "ours", x)
	branch(t, "theirs", strings.Replace(mergeCatalogue, "  order.paid:", "  order.y: { payload: { n: int } }\n  order.paid:", 1))
	gits(t, "checkout -q ours")
	if out, err := gitIn(t, "merge", "--no-edit", "theirs"); err == nil {
		t.Fatal(out)
	}
	gits(t, "checkout --ours .")
	rewrite(t, both)
	gits(t, "add .", "commit -q -m merged", "commit -q --allow-empty -m later")
	rewrite(t, strings.Replace(both, "order.y: { payload: { n: int }", "order.y: { payload: { n: bool }", 1))
	for _, verb := range []string{"", "check"} {
		busgen(t, verb).WantsErrors(t, cli.StatusNo, "[type-changed order.y 1 n int->bool]")
	}
	busgen(t, "-q --accept-wire").Wants(t, 0, "", "")
	gits(t, "commit -q -a -m accepted")
	busgen(t, "check").Wants(t, 0, "", "")
	busgen(t, "").Wants(t, 0, busgen(t, "").Stdout, "")
}

// What is accepted in the middle of a merge stays accepted when that is checked in.
func TestAChangeAcceptedInAMergeStaysAccepted(t *testing.T) {
	generated(t, "events.yaml", mergeCatalogue)
	branch(t, "ours", strings.Replace(mergeCatalogue, "  order.paid:", "  order.x: {}\n  order.paid:", 1))
	branch(t, "theirs", strings.Replace(mergeCatalogue, "  order.paid:", "  order.y: {}\n  order.paid:", 1))
	gits(t, "checkout -q ours")
	if out, err := gitIn(t, "merge", "--no-edit", "theirs"); err == nil {
		t.Fatal(out)
	}
	rewrite(t, mergeCatalogue)
	busgen(t, "").WantsErrors(t, cli.StatusNo, "event order.x is gone", "event order.y is gone")
	busgen(t, "-q --accept-wire").Wants(t, 0, "", "")
	if got := busgen(t, "check"); got.Status != 0 {
		t.Errorf("%+v", got)
	}
	gits(t, "add .", "commit -q -m merged")
	text := read(t, "wire.golden")
	for range 2 {
		if got := busgen(t, "check"); got.Status != 0 {
			t.Errorf("%+v", got)
		}
		busgen(t, "-q").Wants(t, 0, "", "")
		if read(t, "wire.golden") != text {
			t.Errorf("another record:\n%s", read(t, "wire.golden"))
		}
		os.Remove("wire.golden")
		busgen(t, "-q").Wants(t, 0, "", "")
	}
}
