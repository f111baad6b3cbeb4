package postgres_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime/internal/conformance"
)

// brokenRules are changes of the code that break a rule of docs/postgres.md, with the test that has to fail then.
var brokenRules = []struct {
	test string
	file string
	old  string // occurs once in it
	new  string
}{
	{"TestTheOutboxWaitsForTheBus", "relay.go", // rows are deleted that the bus has not stored
		"large, err := to.Take(ctx, records)\n	if err != nil {", "large, err := to.Take(ctx, records)\n	if ctx.Err() != nil {"},
	{"TestEachEventArrivesOnceWhereverTheRelayEnds", "../inbox.go", // the bus does not know them by their ids
		"	r.Once = new(r.ID)\n", ""},
	{"TestOneProcessRelays", "lease.go", // the lease is not fenced
		"WHERE until < clock_timestamp() OR owner = $1::uuid RETURNING", "WHERE true OR owner = $1::uuid RETURNING"},
	{"TestARelayWithoutItsRowSaysSo", "lease.go",
		"	err := errNoRow\n", "	var err error\n"},
	{"TestANaiveReaderLosesEventsAndTheRelayDoesNot", "relay.go", // the reader by number
		"	r.floor.looked(&v, deleted)\n", "	_, r.floor.at = deleted, v.rows[len(v.rows)-1].Seq\n"},
	{"TestTheFloorIsBelowEveryTransaction", "floor.go", // transactions that are open are not waited for
		"f.next > 0 && v.open >= f.later &&", "f.next > 0 &&"},
	{"TestAReaderByTransactionChangesTheOrderOfAKeyAndTheRelayDoesNot", "rows.go", // the reader by transaction waits for the oldest one
		"WHERE seq > $1::bigint AND", "WHERE xmin::text::bigint < pg_snapshot_xmin(pg_current_snapshot())::text::bigint AND seq > $1::bigint AND"},
	{"TestAReaderByTransactionChangesTheOrderOfAKeyAndTheRelayDoesNot", "rows.go", // and goes by their ids
		"SELECT * FROM busgen.outbox WHERE seq > $1::bigint", "SELECT id, type, version, payload, metadata, dedupe, due_at, created_at, " +
			"row_number() OVER (ORDER BY xmin::text::bigint, seq) AS seq FROM busgen.outbox WHERE seq > $1::bigint"},
	{"TestALookBeginsBehindWhatIsRelayed", "relay.go", // the floor is ignored
		"r.read(try, r.floor.at,", "r.read(try, 0,"},
	{"TestAnEventIsRelayedWhenItsTransactionIsOnDisk", "relay.go", // the flush of asynchronous commits is not waited for
		"if !v.flushed {", "if !v.flushed && ctx == nil {"},
	{"TestACommitWhoseAnswerIsLostIsFoundByItsMark", "inbox.go", // the mark is not in the commit
		"in.mark(ctx, q, id, w.items)", "in.mark(ctx, in.db, id, w.items)"},
	{"TestACommitWhoseAnswerIsLostIsFoundByItsMark", "inbox.go", // marks are not looked at
		"len(known) == len(w.items) {", "len(known) > len(w.items) {"},
	{"TestTwoProcessesWithTheSameEventHandleItOnce", "inbox.go",
		"len(known) == len(w.items) {", "len(known) > len(w.items) {"},
	{"TestABatchCommitsWhatHasNotFailed", "inbox.go", // what has failed keeps its mark
		"	if len(failed) > 0 {\n		items", "	if len(failed) > 0 && ctx == nil {\n		items"},
	{"TestAHandlerCannotEndItsTransaction", "inbox.go",
		"return held{tx}, ending", "return tx, ending"},
	{"TestAConflictOfTransactionsIsNoFailureOfTheHandler", "inbox.go",
		"state == \"40001\" || state == \"40P01\"", "state == \"?\""},
	{"TestAReplayIsHandledAgainAndARenamedSubscriptionKeepsItsMarks", "inbox.go", // the mark of the first time counts
		"if a.Replayed {", "if a.Replayed && a.Seq < 0 {"},
	{"TestMarksAreDeletedWhenTheBusHasSettledTheirEvents", "internal/operate/operate.go", // age alone counts
		"			open = append(open, e.ID.String())\n", ""},
}

var breakRules = flag.Bool("break", false, "break the rules of testdata/rules.txt that are marked, and see their tests fail; takes minutes")

// The page states the rules, rules.txt names their tests, and those that are marked were seen to fail; with -break they
// are seen again.
func TestEveryRuleOfThePageHasTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "postgres.md"))
	conformance.Must(t, err)
	var ofPage, listed, marked, breakable []string
	text, _, _ := strings.Cut(string(page), "\n## When something fails\n")
	for _, title := range regexp.MustCompile(`(?s)\n\* \*\*(.*?)\*\*`).FindAllStringSubmatch(text, -1) {
		ofPage = append(ofPage, strings.Join(strings.Fields(title[1]), " "))
	}
	index, err := os.ReadFile(filepath.Join("testdata", "rules.txt"))
	conformance.Must(t, err)
	folder, err := filepath.Glob("*_test.go")
	conformance.Must(t, err)
	tests := ""
	for _, name := range folder {
		source, err := os.ReadFile(name)
		conformance.Must(t, err)
		tests += string(source)
	}
	for line := range strings.Lines(string(index)) {
		if names, indented := strings.CutPrefix(line, "\t"); indented {
			words := strings.Fields(names)
			for i, name := range words {
				if name == "✓" {
					marked = append(marked, words[i-1])
				} else if !strings.Contains(tests, "\nfunc "+name+"(") {
					t.Errorf("%s, named for %q, does not exist", name, listed[len(listed)-1])
				}
			}
		} else if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			listed = append(listed, line)
		}
	}
	if !slices.Equal(listed, ofPage) || len(listed) < 10 {
		t.Errorf("testdata/rules.txt has other rules than the page, or in another order:\n%q, want\n%q", listed, ofPage)
	}
	for _, rule := range brokenRules {
		breakable = append(breakable, rule.test)
		source, err := os.ReadFile(rule.file)
		conformance.Must(t, err)
		if n := strings.Count(string(source), rule.old); n != 1 {
			t.Errorf("%s: %q occurs %d times in %s, want once: change the list with the code", rule.test, rule.old, n, rule.file)
		} else if *breakRules {
			t.Run(rule.test, func(t *testing.T) {
				changed := strings.Replace(string(source), rule.old, rule.new, 1)
				path, err := filepath.Abs(rule.file)
				conformance.Must(t, err)
				temporary := t.TempDir()
				content, err := json.Marshal(map[string]any{"Replace": map[string]string{path: filepath.Join(temporary, "changed.go")}})
				conformance.Must(t, err)
				conformance.Must(t, os.WriteFile(filepath.Join(temporary, "changed.go"), []byte(changed), 0o600))
				conformance.Must(t, os.WriteFile(filepath.Join(temporary, "overlay.json"), content, 0o600))
				output, _ := exec.Command("go", "test", "-vet=off", "-short", "-overlay", filepath.Join(temporary, "overlay.json"),
					"-timeout", "5m", "-run", "^"+rule.test+"$", ".").CombinedOutput()
				if !strings.Contains(string(output), "--- FAIL: "+rule.test) {
					t.Errorf("with %q instead of %q in %s it does not fail:\n%s", rule.new, rule.old, rule.file, output)
				}
			})
		}
	}
	slices.Sort(marked)
	slices.Sort(breakable)
	if marked, breakable = slices.Compact(marked), slices.Compact(breakable); !slices.Equal(marked, breakable) {
		t.Errorf("marked are %q, and can be seen to fail %q", marked, breakable)
	}
}
