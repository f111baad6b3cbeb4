package rules_test

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

func TestEveryRuleHasAnIDOfItsOwnAndADoc(t *testing.T) {
	seen := map[string]bool{}
	for tool := diag.Reader; tool <= diag.Generate; tool++ {
		for _, rule := range rules.Of(tool) {
			if seen[rule.ID] || rule.ID == "" || rule.Severity.String() == "" {
				t.Errorf("%+v", rule)
			}
			seen[rule.ID] = true
			if !strings.HasSuffix(rule.Doc, ".") {
				t.Errorf("the doc of %s is %q", rule, rule.Doc)
			}
		}
	}
	if len(seen) < 100 {
		t.Errorf("there are only %d rules", len(seen))
	}
}
