package importer_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// The page about the verbs has a table of the rules.
func TestThePageAboutTheVerbsListsTheRules(t *testing.T) {
	const page, head = "../../docs/tools.md", "| Import rule | Severity | What it checks |\n|---|---|---|\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, rule := range rules.Of(diag.Import) {
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", rule.ID, rule.Severity, rule.Doc)
	}
	table := regexp.MustCompile(regexp.QuoteMeta(head) + `((?:\|[^\n]+\n)*)`)
	got := table.FindStringSubmatch(string(text))
	if got == nil {
		t.Fatal("the page has no table of rules")
	}
	if *update {
		changed := table.ReplaceAllLiteralString(string(text), head+rows.String())
		if err := os.WriteFile(page, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(rows.String(), got[1]); diff != "" {
		t.Errorf("the table differs (-rules +table), -update corrects it:\n%s", diff)
	}
}
