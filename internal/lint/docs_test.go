package lint_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/lint"
)

var update = flag.Bool("update", false, "rewrite the table of rules in the reference")

// The reference of the language has a table of the rules.
func TestTheReferenceListsTheRules(t *testing.T) {
	const reference, head = "../../docs/catalogue.md", "| Lint rule | Severity | Why |\n|---|---|---|\n"
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, rule := range lint.Rules() {
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", rule.ID, rule.Severity, rule.Doc)
	}
	table := regexp.MustCompile(regexp.QuoteMeta(head) + `((?:[^\n]+\n)*)`)
	got := table.FindStringSubmatch(string(text))
	if got == nil {
		t.Fatal("the reference has no table of rules")
	}
	if *update {
		changed := table.ReplaceAllLiteralString(string(text), head+rows.String())
		if err := os.WriteFile(reference, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(rows.String(), got[1]); diff != "" {
		t.Errorf("the table differs (-rules +table), -update corrects it:\n%s", diff)
	}
}
