package types

import (
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/schema"
	"github.com/busgen/busgen/internal/importer/tree"
)

// ignored are keywords that change nothing, besides those that only say something.
var ignored = []string{"readOnly", "writeOnly", "externalDocs", "xml", "contentMediaType", "contentSchema",
	"additionalItems", "minContains", "maxContains", "$dynamicAnchor", "$recursiveAnchor"}

// leftovers reports the keywords of a schema that are not known, of which the first says
// what it is about: nothing is dropped without a word.
func (tm *Maker) leftovers(s *tree.Node, known ...string) {
	for _, m := range s.Members {
		if slices.Contains(known, m.Name) || slices.Contains(schema.SayingKeywords, m.Name) || tm.refused[m.Value] {
			continue
		}
		about := schema.AboutKind(m.Name)
		if len(known) > 0 && about == schema.AboutKind(known[0]) {
			about = ""
		}
		switch {
		case m.Name == "type", m.Name == "enum", m.Name == "x-busgen":
		case slices.Contains(ignored, m.Name):
			tm.Note(m.At, "a catalogue has no place for %s", m.Name)
		case strings.HasPrefix(m.Name, "x-"):
			tm.Note(m.At, "a catalogue has no place for the extension %s", findings.Quote(m.Name))
		case !schema.IsAssertion(m.Name):
			tm.Note(m.At, "a catalogue has no place for %s, which is no keyword of JSON Schema", findings.Quote(m.Name))
		case about != "":
			tm.Note(m.At, "%s applies to values of another type and has no effect here", m.Name)
		default:
			tm.Report(m.At, rules.ImportKeyword, "%s has no counterpart in a catalogue", findings.Quote(m.Name)).
				Hint = schema.KeywordHints[m.Name]
		}
	}
}
