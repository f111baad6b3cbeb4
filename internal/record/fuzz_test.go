package record

import (
	"slices"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/diag"
)

// A line of wire.golden may come out of a merge, or from anybody. One that is a fact is written as it is read.
func FuzzParseFact(f *testing.F) {
	for _, line := range []string{`event order.placed version: 1`, `event order.placed field "a b" type: "string"`, `group "x\"y" alias z`, `a: {"b":[1]}`, `a:`, `"`, ``} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "\n") {
			return
		}
		fact, err := ParseFact(line, diag.Position{Line: 1, Column: 1})
		if err != nil {
			return
		}
		again, err := ParseFact(fact.String(), diag.Position{Line: 1, Column: 1})
		if err != nil || !slices.Equal(again.Words, fact.Words) || again.Value != fact.Value {
			t.Errorf("%q is %q %q, which is written as %q and read as %q %q: %v", line, fact.Words, fact.Value, fact, again.Words, again.Value, err)
		}
	})
}
