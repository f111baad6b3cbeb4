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

// Marks at the end of the text of a type.
const (
	OptionalMark = "?"     // the field may be absent
	NullMark     = "|null" // the field is always there, and may be null
)

// CutMark cuts the mark off the text of a type. There may be none.
func CutMark(text string) (bare, mark string) {
	for _, mark := range []string{OptionalMark, NullMark} {
		if bare, found := strings.CutSuffix(text, mark); found {
			return bare, mark
		}
	}
	return text, ""
}

// MayBeNil reports whether a field of type t may have no value: it is nil in Go, and absent or null in JSON.
func (t *TypeRef) MayBeNil() bool { return t.Optional || t.Nullable }

// Bare returns t for a field that has a value.
func (t *TypeRef) Bare() *TypeRef {
	bare := *t
	bare.Optional, bare.Nullable = false, false
	return &bare
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

// What a declared type is. Built-in types, lists and maps are none of these.

func (t *TypeRef) IsStruct() bool { return t.Kind == Named && t.Named.IsStruct() }
func (t *TypeRef) IsUnion() bool  { return t.Kind == Named && t.Named.IsUnion() }
func (t *TypeRef) IsEnum() bool   { return t.Kind == Named && t.Named.IsEnum() }
func (t *TypeRef) IsCustom() bool { return t.Kind == Named && t.Named.IsCustom() }

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
	if t != nil && t.IsCustom() {
		return t.Named.Custom.JSON
	}
	return t
}

// defaultable lists the kinds whose defaults can be constants.
var defaultable = []Kind{String, Bool, Int, Int32, Int64, Uint64, Float64, Decimal, Date, Duration, UUID}

// TakesDefault reports whether a field of type t can have a default: whether it is a scalar.
func (t *TypeRef) TakesDefault() bool {
	return slices.Contains(defaultable, t.Kind) || t.IsEnum()
}
