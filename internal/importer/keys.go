package importer

import (
	"fmt"
	"slices"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/lint"
)

// A key is the name of a property that no field can have.
type key struct {
	name, field string // field is empty for a property that is left out
	at          catalog.Place
}

// firstKeys is how many keys the summary names.
const firstKeys = 3

// changedKeys is the finding about all keys that change.
func (im *importer) changedKeys() lint.Finding {
	keys := slices.Clone(im.keys)
	slices.SortStableFunc(keys, func(a, b key) int { return comparePositions(a.at.Pos, b.at.Pos) })
	seen := map[string]bool{}
	keys = slices.DeleteFunc(keys, func(k key) bool {
		before := seen[k.name]
		seen[k.name] = true
		return before
	})
	rule, _ := RuleOf(string(RuleKeys))
	severity, happens := rule.Severity, "would change"
	hint := "payloads with the old keys would lose these values: change them in the document, or accept it with --rename-keys"
	if im.RenameKeys {
		severity, hint = lint.Warning, "payloads with the old keys lose these values"
		if happens = "have changed"; len(keys) == 1 {
			happens = "has changed"
		}
	}
	text := fmt.Sprintf("%d keys of the JSON %s: ", len(keys), happens)
	if len(keys) == 1 {
		text = "1 key of the JSON " + happens + ": "
	}
	for i, k := range keys[:min(len(keys), firstKeys)] {
		switch {
		case i > 0 && i+1 == len(keys):
			text += " and "
		case i > 0:
			text += ", "
		}
		if k.field == "" {
			text += quoted(k.name) + " is left out"
		} else {
			text += quoted(k.name) + " becomes " + k.field
		}
	}
	if more := len(keys) - firstKeys; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	f := &catalog.Finding{Place: keys[0].at, Rule: RuleKeys, Message: shown(text), Hint: hint}
	return lint.Finding{Finding: f, Severity: severity}
}
