package catalog

import (
	"slices"
	"strings"
)

// Scalars maps the names of the built-in types to their kinds.
var Scalars = map[string]Kind{
	"string": String, "bool": Bool, "int": Int, "int32": Int32, "int64": Int64, "uint64": Uint64, "float64": Float64,
	"bytes": Bytes, "time": Time, "date": Date, "duration": Duration, "uuid": UUID, "decimal": Decimal, "json": JSON,
}

// InPlace stands in the text of a type for the struct that is written beside it.
const InPlace = "{}"

// CutElem cuts "[]" or "map[string]" off the text of a type. It returns the kind that this prefix
// stands for and the text of the type of the elements.
func CutElem(text string) (kind Kind, elem string, found bool) {
	if elem, found = strings.CutPrefix(text, "[]"); found {
		return List, elem, true
	}
	elem, found = strings.CutPrefix(text, "map[string]")
	return Map, elem, found
}

// IsCollection reports whether t is a list or a map.
func (t *TypeRef) IsCollection() bool { return t.Kind == List || t.Kind == Map }

// Declared returns the declared type at the bottom of t: that of the elements, if t is a list or a map.
// It is nil if that is a built-in type.
func (t *TypeRef) Declared() *Type {
	for t.Elem != nil {
		t = t.Elem
	}
	return t.Named
}

// JSONType returns the type whose JSON t has: t itself, or the declared form of a custom Go type. It is nil
// for nil.
func (t *TypeRef) JSONType() *TypeRef {
	if t != nil && t.Kind == Named && t.Named.IsCustom() {
		return t.Named.Custom.JSON
	}
	return t
}

// defaultable lists the kinds whose defaults can be constants.
var defaultable = []Kind{String, Bool, Int, Int32, Int64, Uint64, Float64, Decimal, Date, Duration, UUID}

// TakesDefault reports whether a field of type t can have a default: whether it is a scalar.
func (t *TypeRef) TakesDefault() bool {
	return slices.Contains(defaultable, t.Kind) || t.Kind == Named && t.Named.IsEnum()
}
