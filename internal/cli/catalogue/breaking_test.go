package catalogue

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/diag/rules"
)

// Orders before and after: number has become a text.
const (
	ordersBefore = `version: 1
package: shop
events:
  order.placed:
    payload: { number: int }
`
	ordersAfter = `version: 1
package: shop
events:
  order.placed:
    payload: { number: string }
`
	ordersVersioned = `version: 1
package: shop
events:
  order.placed:
    version: 2
    payload: { number: string }
    history: { 1: { payload: { number: int } } }
`
	changedReport = `events.yaml:5:24: error: field number of event order.placed is string and was int: neither program can decode the rows of the other; raise the version of order.placed and keep the old payload under history [type-changed order.placed 1 number int->string]
    5 |     payload: { number: string }
      |                        ^^^^^^
  OLD:5:24: it was here
    5 |     payload: { number: int }
      |                        ^^^
backward (old rows, new program): breaking, 1 error
forward (new rows, old program): breaking, 1 error
`
)

func TestACatalogueIsComparedWithAFileAFolderOrARevision(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersAfter, "old.yaml": ordersBefore, "release/events.yaml": ordersBefore})
	inGit(t, map[string]string{"events.yaml": ordersBefore})
	for against, old := range map[string]string{
		"old.yaml": "old.yaml", "release": "release/events.yaml", "main": "main:events.yaml", "HEAD": "HEAD:events.yaml", "main:events.yaml": "main:events.yaml",
	} {
		busgen(t, "breaking --against "+against).Wants(t, cli.StatusNo, strings.Replace(changedReport, "OLD", old, 1), "busgen: 1 error in events.yaml\n")
	}
}

// A tag, a branch and a folder can have one name. Nobody guesses which of them is meant.
func TestANameWithTwoMeaningsIsAskedAbout(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersAfter, "main/main.go": "package main\n", "old/events.yaml": ordersAfter})
	inGit(t, map[string]string{"events.yaml": ordersBefore})
	for _, ref := range []string{"tag base", "tag old", "branch twice", "tag twice"} {
		if out, err := exec.Command("git", strings.Fields(ref)...).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	ofGit := func(name string) string { return strings.Replace(changedReport, "OLD", name+":events.yaml", 1) }
	const changed = "busgen: 1 error in events.yaml\n"
	busgen(t, "breaking --against main").Wants(t, cli.StatusNo, ofGit("main"), changed) // a folder without a catalogue
	busgen(t, "breaking --against old").Wants(t, cli.StatusTrouble, "",
		"busgen: --against old is a revision in git, and old/events.yaml is a file: write refs/tags/old for the revision, or ./old for the folder\n")
	busgen(t, "breaking --against refs/tags/old").Wants(t, cli.StatusNo, ofGit("refs/tags/old"), changed)
	busgen(t, "breaking --against old:events.yaml").Wants(t, cli.StatusNo, ofGit("old"), changed)
	for _, folder := range []string{"./old", "old/"} {
		busgen(t, "breaking --against "+folder).Wants(t, 0, "backward (old rows, new program): compatible\nforward (new rows, old program): compatible\n", "")
	}
	busgen(t, "breaking --against base").Wants(t, cli.StatusNo, ofGit("base"), changed)
	must(t, os.WriteFile("base", []byte(ordersAfter), 0o666))
	busgen(t, "breaking --against base").Wants(t, cli.StatusTrouble, "",
		"busgen: --against base is a revision in git, and base is a file: write refs/tags/base for the revision, or ./base for the file\n")
	must(t, os.WriteFile("HEAD", []byte(ordersAfter), 0o666))
	busgen(t, "breaking --against HEAD").Wants(t, cli.StatusTrouble, "",
		"busgen: --against HEAD is a revision in git, and HEAD is a file: write HEAD^{commit} for the revision, or ./HEAD for the file\n")
	busgen(t, "breaking --against HEAD^{commit}").Wants(t, cli.StatusNo, ofGit("HEAD^{commit}"), changed)
	busgen(t, "breaking --against twice").Wants(t, cli.StatusTrouble, "",
		"busgen: git has several revisions named twice: write refs/heads/twice or refs/tags/twice\n")
}

func TestACompatibleChange(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersBefore, "old.yaml": ordersBefore, "new.yaml": ordersVersioned, "more.yaml": ordersBefore + "  order.paid: {}\n"})
	same := "backward (old rows, new program): compatible\nforward (new rows, old program): compatible\n"
	busgen(t, "breaking --against old.yaml").Wants(t, 0, same, "")
	busgen(t, "breaking more.yaml --against old.yaml").Wants(t, 0, `more.yaml:6:3: note: event order.paid is new [event-added order.paid]
    6 |   order.paid: {}
      |   ^^^^^^^^^^
`+same, "")
	busgen(t, "breaking new.yaml --against old.yaml --direction backward").Wants(t, 0, "backward (old rows, new program): compatible\n", "")
	got := busgen(t, "breaking new.yaml --against old.yaml --direction forward")
	if got.Status != cli.StatusNo || !strings.Contains(got.Stdout, "[version-raised order.placed 1->2]") || !strings.HasSuffix(got.Stdout, "\nforward (new rows, old program): breaking, 1 error\n") {
		t.Errorf("%+v", got)
	}
}

// A catalogue below the top of a repository, with a file that it includes from above
// and some by a pattern.
func TestARevisionHasTheFilesThatACatalogueIncludes(t *testing.T) {
	const root = "version: 1\npackage: shop\ninclude: [../types.yaml, teams/*.yaml]\nevents:\n  order.placed: { payload: { total: Money } }\n"
	files := map[string]string{
		"events/events.yaml":     root,
		"types.yaml":             "version: 1\ntypes:\n  Money: { fields: { amount: int64 } }\n",
		"events/teams/mail.yaml": "version: 1\nevents:\n  mail.sent: { payload: { to: string } }\n",
	}
	inFolder(t, files)
	inGit(t, files)
	must(t, os.WriteFile("types.yaml", []byte(strings.Replace(files["types.yaml"], "int64", "bool", 1)), 0o600))
	must(t, os.WriteFile("events/teams/mail.yaml", []byte(strings.Replace(files["events/teams/mail.yaml"], "string", "int64", 1)), 0o600))
	t.Chdir("events")
	for against, want := range map[string][]string{
		"HEAD":                    {"../types.yaml:3:30: error: field amount of type Money", "  HEAD:../types.yaml:3:30: it was here", "teams/mail.yaml:3:31: error", "  HEAD:teams/mail.yaml:3:31: it was"},
		"HEAD:events/events.yaml": {"  HEAD:types.yaml:3:30: it was here", "  HEAD:events/teams/mail.yaml:3:31: it was"},
	} {
		got := busgen(t, "breaking --against "+against)
		for _, text := range want {
			if got.Status != cli.StatusNo || !strings.Contains(got.Stdout, text) {
				t.Errorf("%s: status %d without %s:\n%s%s", against, got.Status, text, got.Stdout, got.Stderr)
			}
		}
	}
	must(t, os.Remove("../types.yaml")) // what was is still there
	must(t, os.WriteFile("events.yaml", []byte(ordersBefore), 0o600))
	if got := busgen(t, "breaking --against HEAD"); got.Status != cli.StatusNo || !strings.Contains(got.Stdout, "event mail.sent is gone") {
		t.Errorf("%+v", got)
	}
}

func TestACatalogueThatCannotBeComparedIsTrouble(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersAfter, "broken.yaml": broken, "empty/x": ""})
	for command, want := range map[string]string{
		"breaking":                                     "say what to compare with, as in --against main, or whose rows to decode, as in --db shop.db",
		"breaking --against main":                      "there is no file or folder main, and events.yaml is not in a repository of git",
		"breaking --against empty":                     "there is no catalogue at empty/events.yaml",
		"breaking --against broken.yaml":               "2 errors in broken.yaml",
		"breaking broken.yaml --against events.yaml":   "2 errors in broken.yaml",
		"breaking --against events.yaml --direction x": "want one of backward, forward, both",
		"breaking --db nope.db":                        "there is no file nope.db",
		"breaking --db events.yaml":                    "not an event log",
		"breaking --rules --db x":                      "none of the others can be",
	} {
		busgen(t, command).WantsErrors(t, cli.StatusTrouble, want)
	}
	inGit(t, map[string]string{"events.yaml": broken, "x": ""})
	for command, want := range map[string]string{
		"breaking --against nope":        "there is no file or folder nope, and no revision nope in git: fetch it, or name another one",
		"breaking --against --output=x":  "no revision --output=x in git",
		"breaking --against main:y.yaml": "there is no y.yaml in main: name it as git does, as in --against main:path/to/events.yaml",
		"breaking --against main":        "main:events.yaml:",
	} {
		busgen(t, command).WantsErrors(t, cli.StatusTrouble, want)
	}
	t.Setenv("PATH", "")
	busgen(t, "breaking --against main").WantsErrors(t, cli.StatusTrouble, "there is no file or folder main, and no git to ask")
}

func TestBreakingReportsForPrograms(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": ordersAfter, "old.yaml": ordersBefore})
	got := busgen(t, "breaking --against old.yaml --format json")
	var found findingsObject
	if err := json.Unmarshal([]byte(got.Stdout), &found); err != nil || got.Status != cli.StatusNo {
		t.Fatal(err, got)
	}
	f := found.Findings[0]
	if len(found.Findings) != 1 || f.Rule != "type-changed" || f.Key != "type-changed order.placed 1 number int->string" || f.Direction != "both" || f.Severity != "error" || f.Line != 5 || f.Related[0].File != "old.yaml" {
		t.Errorf("%+v", found)
	}
	got = busgen(t, "breaking --against old.yaml --format sarif")
	for _, text := range []string{rules.TypeChanged.Doc, "tools.md#what-a-change-breaks", `"uri": "old.yaml"`, `"busgenKey/v1": "type-changed order.placed 1 number int->string"`} {
		if !strings.Contains(got.Stdout, text) {
			t.Errorf("the SARIF lacks %s:\n%s", text, got.Stdout)
		}
	}
	busgen(t, "breaking --against events.yaml --format github").Wants(t, 0, "", "")
}

func TestEveryRuleOfBreakingIsListed(t *testing.T) {
	got := busgen(t, "breaking --rules")
	for _, rule := range breaking.Rules() {
		if !strings.Contains(got.Stdout, rule.ID+" ("+rule.Severity.String()+", "+rule.Direction.String()+")\n  "+rule.Doc) {
			t.Errorf("%s is not listed", rule.ID)
		}
	}
}

// inGit makes a repository of the current folder in which the branch main, and the tag v1.2, has
// these files, and leaves the folder as it is.
func inGit(t *testing.T, files map[string]string) {
	t.Helper()
	git := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Stdin = strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("", "init", "-q", "-b", "main")
	for name, text := range files {
		blob := git(text, "hash-object", "-w", "--stdin")
		git("", "update-index", "--add", "--cacheinfo", "100644,"+blob+","+name)
	}
	commit := git("", "commit-tree", "-m", "x", git("", "write-tree"))
	git("", "update-ref", "refs/heads/main", commit)
	git("", "update-ref", "refs/tags/v1.2", commit)
}

func TestAFindingThatTheCatalogueAcceptsDoesNotCount(t *testing.T) {
	const accepted = "accepted:\n  type-changed order.placed 1 number int->string: Nothing is stored yet.\n"
	inFolder(t, map[string]string{"events.yaml": ordersAfter + accepted, "old.yaml": ordersBefore})
	busgen(t, "breaking --against old.yaml").Wants(t, 0, `events.yaml:5:24: note: field number of event order.placed is string and was int: neither program can decode the rows of the other; accepted: Nothing is stored yet. [type-changed order.placed 1 number int->string]
    5 |     payload: { number: string }
      |                        ^^^^^^
  old.yaml:5:24: it was here
    5 |     payload: { number: int }
      |                        ^^^
backward (old rows, new program): compatible
forward (new rows, old program): compatible
`, "")
}

// A renamed field is asked about until the catalogue says that it was renamed, or removed.
func TestARenamedFieldIsAskedAbout(t *testing.T) {
	const fine = "backward (old rows, new program): compatible\n"
	inFolder(t, map[string]string{"events.yaml": ordersBefore, "old.yaml": ordersBefore})
	byHand := strings.Replace(ordersBefore, "number: int", `count: "int?"`, 1)
	for _, test := range []struct {
		change func()
		want   string
	}{
		{func() { busgen(t, "rename field order.placed.number count") }, ""},
		{func() { must(t, os.WriteFile("events.yaml", []byte(byHand), 0o666)) }, "field count of event order.placed is new, and may be a new name of field number, which is gone: "},
		{func() {
			must(t, os.WriteFile("events.yaml", []byte(strings.Replace(byHand, "    payload", "    reserved: [number]\n    payload", 1)), 0o666))
		}, ""},
	} {
		test.change()
		if got := busgen(t, "breaking --against old.yaml --direction backward"); test.want == "" && (got.Status != 0 || got.Stdout != fine) ||
			test.want != "" && (got.Status != cli.StatusNo || !strings.Contains(got.Stdout, test.want)) {
			t.Errorf("want %q, got %+v", test.want, got)
		}
	}
}
