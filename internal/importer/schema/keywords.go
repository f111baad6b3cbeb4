package schema

import (
	"slices"

	"github.com/busgen/busgen/internal/export"
	"github.com/busgen/busgen/internal/importer/tree"
)

// leasts and mosts are the keywords of limits.
var (
	leasts = []string{"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}
	mosts  = []string{"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}
)

// conditional are the keywords with schemas that hold for some values only.
var conditional = []string{"then", "else", "anyOf", "oneOf", "dependentSchemas", "dependencies"}

const CheckWherePublished = "check it where the event is published"

// KeywordHints say what to do about keywords that a catalogue has nothing for.
var KeywordHints = map[string]string{
	"anyOf":                 "write a union of structs if they differ in the value of a property",
	"oneOf":                 "write a union of structs if they differ in the value of a property",
	"not":                   CheckWherePublished,
	"if":                    CheckWherePublished,
	"then":                  CheckWherePublished,
	"else":                  CheckWherePublished,
	"contains":              CheckWherePublished,
	"dependentRequired":     CheckWherePublished,
	"dependentSchemas":      CheckWherePublished,
	"dependencies":          CheckWherePublished,
	"patternProperties":     "put these properties into a map",
	"propertyNames":         "the keys of a map can be any string",
	"discriminator":         "the catalogue names it in a union",
	"$dynamicRef":           "name the type that is meant",
	"$recursiveRef":         "name the type that is meant",
	"unevaluatedProperties": "unknown properties of a payload are ignored",
}

// IsAssertion tells whether a keyword says which values there are. Others, such as x-order, may have any name.
func IsAssertion(keyword string) bool {
	switch keyword {
	case "$ref", "type", "enum", "const", "allOf":
		return true
	}
	return KeywordHints[keyword] != "" || AboutKind(keyword) != ""
}

// AboutKind is the type that a keyword is about; empty for one about any.
func AboutKind(keyword string) string {
	for _, i := range Implied {
		if slices.Contains(i.Keywords, keyword) {
			return i.Kind
		}
	}
	return ""
}

// SayingKeywords are those that do not say which values there are, or what belongs to the
// document as a whole.
var SayingKeywords = []string{
	"title", "description", "default", "deprecated", "examples", "example", "nullable", export.SensitiveKey,
	export.PersonalKey,
	"$schema", "$id", "id", "$anchor", "$comment", "$defs", "definitions", "$vocabulary",
}

// OnlySays tells whether a schema says nothing about values besides with one keyword.
func OnlySays(s *tree.Node, besides string) bool {
	return !slices.ContainsFunc(s.Members, func(m tree.Member) bool {
		return m.Name != besides && !slices.Contains(SayingKeywords, m.Name)
	})
}
