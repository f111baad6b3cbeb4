package breaking_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/diag/rules"
)

var update = flag.Bool("update", false, "rewrite the table of rules in the guide")

// The guide to the verbs has a table of the rules.
func TestTheGuideListsTheRules(t *testing.T) {
	const guide, head = "../../docs/tools.md", "| Breaking rule | Severity | Direction | Why |\n|---|---|---|---|\n"
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, rule := range breaking.Rules() {
		fmt.Fprintf(&rows, "| `%s` | %s | %s | %s |\n", rule.ID, rule.Severity, rule.Direction, rule.Doc)
	}
	table := regexp.MustCompile(regexp.QuoteMeta(head) + `((?:\|[^\n]+\n)*)`)
	got := table.FindStringSubmatch(string(text))
	if got == nil {
		t.Fatal("the guide has no table of rules")
	}
	if *update {
		if err := os.WriteFile(guide, []byte(table.ReplaceAllLiteralString(string(text), head+rows.String())), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(rows.String(), got[1]); diff != "" {
		t.Errorf("the table differs (-rules +table), -update corrects it:\n%s", diff)
	}
}

// Findings can be accepted by every rule that is about a change.
func TestTheCatalogueAcceptsFindingsOfAllRules(t *testing.T) {
	var ids []string
	for _, rule := range breaking.Rules() {
		if rule.Rule != rules.StoredRows && rule.Rule != rules.StoredFields {
			ids = append(ids, rule.ID)
		}
	}
	if diff := cmp.Diff(ids, rules.Changes()); diff != "" {
		t.Errorf("rules.Changes differs (-rules +Changes):\n%s", diff)
	}
}
