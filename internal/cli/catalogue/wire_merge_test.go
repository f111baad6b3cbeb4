package catalogue

import (
	"os"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/short"
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
	short.Visit(t, "it runs git, or compiles")
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
	short.Visit(t, "it runs git, or compiles")
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
	short.Visit(t, "it runs git, or compiles")
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
	short.Visit(t, "it runs git, or compiles")
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
	short.Visit(t, "it runs git, or compiles")
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

// versionTwo is the catalogue with a second version of an event, with more fields.
func versionTwo(more string) string {
	return strings.Replace(mergeCatalogue, "  order.placed:\n    payload:\n      number: int\n",
		"  order.placed:\n    version: 2\n    payload:\n      number: int\n"+more+"    history: { 1: { payload: { number: int } } }\n", 1)
}

// forked makes a branch ours and a branch theirs, with these catalogues, and combines them by a command of git. The record is
// merged line by line, as .gitattributes says.
func forked(t *testing.T, command, ours, theirs string) {
	t.Helper()
	generated(t, "events.yaml", mergeCatalogue)
	must(t, os.WriteFile(".gitattributes", []byte("wire.golden merge=union\n"), 0o600))
	gits(t, "add .", "commit -q -m attributes")
	branch(t, "ours", ours)
	branch(t, "theirs", theirs)
	gits(t, "checkout -q ours")
	gitIn(t, strings.Fields(command)...) // generated code has conflicts
}

// Rows of version 2 have what the branch that stored them knows: no catalogue with all fields reads them.
func TestTwoBranchesThatBringTheSameVersionAreRefused(t *testing.T) {
	short.Visit(t, "it runs git, or compiles")
	vat, shop := "      vat: int64\n", "      shop: string\n"
	const key = "[merged-twice order.placed 2 shop,vat]"
	for _, command := range []string{"merge --no-edit theirs", "cherry-pick theirs", "rebase ours theirs"} {
		t.Run(command, func(t *testing.T) {
			forked(t, command, versionTwo(vat), versionTwo(shop))
			rewrite(t, versionTwo(vat+shop))
			for _, verb := range []string{"", "check"} {
				busgen(t, verb).WantsErrors(t, cli.StatusNo, "two merged branches brought version 2 of event order.placed, one with vat: int64, the other with shop: string", key,
					"HEAD:wire.golden:", `event order.placed 2 vat: "int64"`, `event order.placed 2 shop: "string"`)
			}
			// Whoever generates when it is committed is refused, too.
			gits(t, "add .", map[bool]string{true: "rebase --continue", false: "commit -q --allow-empty -m both"}[strings.HasPrefix(command, "rebase")])
			for _, verb := range []string{"", "check"} {
				if got := busgen(t, verb); got.Status != cli.StatusNo || !strings.Contains(got.Stderr, "order.placed 2 ") {
					t.Errorf("%+v", got)
				}
			}
			busgen(t, "-q --accept-wire").Wants(t, 0, "", "")
			gits(t, "commit -q -a -m accepted")
			busgen(t, "check").Wants(t, 0, "", "")
		})
	}
	t.Run("a squashed merge", func(t *testing.T) {
		forked(t, "merge --squash theirs", versionTwo(vat), versionTwo(shop))
		rewrite(t, versionTwo(vat+shop))
		gits(t, "add .", "commit -q -m both")
		busgen(t, "").WantsErrors(t, cli.StatusNo, "[field-added order.placed 2 shop]")
	})
}

func TestTwoBranchesThatBringTheSameVersionAreReconciled(t *testing.T) {
	short.Skip(t, "programs are compiled")
	vat, shop := "      vat: int64\n", "      shop: string\n"
	third := func(second string) string {
		return strings.Replace(strings.Replace(versionTwo(vat+shop), "version: 2", "version: 3", 1), "    history: {", "    history: { 2: { payload: { number: int, "+second+" } },", 1)
	}
	for name, test := range map[string]struct{ theirs, merged, note string }{
		"ours stays version 2":              {theirs: shop, merged: third("vat: int64"), note: "its rows are read as those of the branch with vat: int64 [merged-twice order.placed 2 shop,vat]"},
		"theirs stays version 2":            {theirs: shop, merged: third("shop: string"), note: "its rows are read as those of the branch with shop: string [merged-twice order.placed 2 shop,vat]"},
		"another type, and theirs stays":    {theirs: "      vat: string\n", merged: third("vat: string"), note: "the other with vat: string: in old rows"},
		"a struct in place, and ours stays": {theirs: "      more: { type: \"{}\", fields: { a: int } }\n", merged: third("vat: int64"), note: "the other with more.a: int, more: {}: in old rows"},
		"nothing more, and ours stays":      {theirs: "", merged: third("vat: int64"), note: "the other without that: in old rows"},
		"optional fields":                   {theirs: shop, merged: versionTwo("      vat: int64?\n      shop: string?\n")},
		"the same":                          {theirs: vat, merged: versionTwo(vat)},
		"a field more that is optional":     {theirs: vat + "      shop: string?\n", merged: versionTwo(vat + "      shop: string?\n")},
		"accepted": {theirs: shop, note: "accepted: Nothing was deployed. [merged-twice order.placed 2 shop,vat]",
			merged: strings.Replace(versionTwo(vat+shop), "events:", "accepted: { \"merged-twice order.placed 2 shop,vat\": Nothing was deployed. }\nevents:", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			forked(t, "merge --no-edit theirs", versionTwo(vat), versionTwo(test.theirs))
			rewrite(t, test.merged)
			got := busgen(t, "")
			if got.Status != 0 || !strings.Contains(got.Stdout, test.note) || strings.Contains(got.Stdout, "merged-twice") != (test.note != "") {
				t.Fatalf("%+v", got)
			}
			if got := busgen(t, "check"); got.Status != 0 {
				t.Errorf("%+v", got)
			}
			gits(t, "add .", "commit -q --allow-empty -m merged")
			if got := busgen(t, "check"); got.Status != 0 {
				t.Errorf("%+v", got)
			}
			// The next changes know nothing of it, in this branch and in the other one.
			change := strings.Replace(read(t, "events.yaml"), "  order.paid:", "  order.x: {}\n  order.paid:", 1)
			rewrite(t, change)
			busgen(t, "-q").Wants(t, 0, "", "")
			gits(t, "add .", "commit -q -m later")
			busgen(t, "check").Wants(t, 0, "", "")
			gits(t, "checkout -q theirs", "merge -q --no-ff --no-edit ours")
			busgen(t, "check").Wants(t, 0, "", "")
		})
	}
}

// It is the same with an event or a type that both branches bring.
func TestTwoBranchesThatBringTheSameNameAreRefused(t *testing.T) {
	short.Visit(t, "it runs git, or compiles")
	event := func(fields string) string {
		return mergeCatalogue + "  order.shipped: { payload: { " + fields + " } }\n"
	}
	extra := func(fields string) string {
		return strings.Replace(strings.Replace(mergeCatalogue, "      number: int\n", "      number: int\n      extra: Extra?\n", 1), "events:", "types: { Extra: { fields: { "+fields+" } } }\nevents:", 1)
	}
	colors := func(values string) string {
		return strings.Replace(strings.Replace(mergeCatalogue, "      number: int\n", "      number: int\n      color: Color?\n", 1), "events:", "types: { Color: { enum: ["+values+"] } }\nevents:", 1)
	}
	for name, test := range map[string]struct{ ours, theirs, merged, key string }{
		"an event":                    {event("a: int"), event("b: int"), event("a: int, b: int"), "[merged-twice order.shipped 1 a,b]"},
		"a struct":                    {extra("a: int"), extra("b: int"), extra("a: int, b: int"), "[merged-twice Extra a,b]"},
		"a struct of one side":        {extra("a: int"), extra("b: int"), extra("a: int"), "[merged-twice Extra a,b]"},
		"an enum":                     {colors("red"), colors("blue"), colors("red, blue"), ""},
		"an event of optional fields": {event(`a: "int?"`), event(`b: "int?"`), event(`a: "int?", b: "int?"`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			forked(t, "merge --no-edit theirs", test.ours, test.theirs)
			rewrite(t, test.merged)
			if test.key == "" {
				busgen(t, "-q").Wants(t, 0, "", "")
				return
			}
			busgen(t, "").WantsErrors(t, cli.StatusNo, "two merged branches brought ", test.key)
		})
	}
}
