package breaking_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/diag/rules"
)

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
