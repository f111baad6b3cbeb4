package importer

import (
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag/rules"
)

// keywordHints say what to do about keywords that a catalogue has nothing for.
var keywordHints = map[string]string{
	"anyOf":                 "write a union of structs if they differ in the value of a property",
	"oneOf":                 "write a union of structs if they differ in the value of a property",
	"not":                   "check it where the event is published",
	"if":                    "check it where the event is published",
	"then":                  "check it where the event is published",
	"else":                  "check it where the event is published",
	"contains":              "check it where the event is published",
	"dependentRequired":     "check it where the event is published",
	"dependentSchemas":      "check it where the event is published",
	"dependencies":          "check it where the event is published",
	"patternProperties":     "put these properties into a map",
	"propertyNames":         "the keys of a map can be any string",
	"discriminator":         "the catalogue names it in a union",
	"$dynamicRef":           "name the type that is meant",
	"$recursiveRef":         "name the type that is meant",
	"unevaluatedProperties": "unknown properties of a payload are ignored",
}

// ignored are keywords that change nothing, besides those that only say something.
var ignored = []string{"readOnly", "writeOnly", "externalDocs", "xml", "contentMediaType", "contentSchema", "additionalItems", "minContains", "maxContains", "$dynamicAnchor", "$recursiveAnchor"}

// isAssertion tells whether a keyword says which values there are. Others, such as x-order, may have any name.
func isAssertion(keyword string) bool {
	switch keyword {
	case "$ref", "type", "enum", "const", "allOf":
		return true
	}
	return keywordHints[keyword] != "" || aboutKind(keyword) != ""
}

// aboutKind is the type that a keyword is about; empty for one about any.
func aboutKind(keyword string) string {
	for _, i := range implied {
		if slices.Contains(i.keywords, keyword) {
			return i.kind
		}
	}
	return ""
}

// leftovers reports the keywords of a schema that are not known, of which the first says
// what it is about: nothing is dropped without a word.
func (tm *typeMaker) leftovers(s *node, known ...string) {
	for _, m := range s.members {
		if slices.Contains(known, m.name) || slices.Contains(sayingKeywords, m.name) || tm.refused[m.value] {
			continue
		}
		about := aboutKind(m.name)
		if len(known) > 0 && about == aboutKind(known[0]) {
			about = ""
		}
		switch {
		case m.name == "type", m.name == "enum", m.name == "x-busgen":
		case slices.Contains(ignored, m.name):
			tm.note(m.at, "a catalogue has no place for %s", m.name)
		case strings.HasPrefix(m.name, "x-"):
			tm.note(m.at, "a catalogue has no place for the extension %s", quoted(m.name))
		case !isAssertion(m.name):
			tm.note(m.at, "a catalogue has no place for %s, which is no keyword of JSON Schema", quoted(m.name))
		case about != "":
			tm.note(m.at, "%s applies to values of another type and has no effect here", m.name)
		default:
			tm.report(m.at, rules.ImportKeyword, "%s has no counterpart in a catalogue", quoted(m.name)).Hint = keywordHints[m.name]
		}
	}
}
