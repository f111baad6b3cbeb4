package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/plainjson"
)

// Of returns everything that a check of the payloads of e needs, as one line of JSON with the words of
// the catalogue. [Read] reads it. Docs, settings, defaults of optional fields and Go names are not part
// of it, and it does not depend on other events, files or packages. See [Parts].
func Of(e *catalog.Event) string {
	own, types := Parts(e)
	var text strings.Builder
	text.WriteString(own)
	for i, t := range types {
		if i > 0 {
			text.WriteString(",")
		}
		text.WriteString(t.Text)
	}
	text.WriteString(End(types))
	return text.String()
}

// Parts returns the schema of an event in parts, so that a type that many events use stands in one place: the text of
// the event itself, then those of the types that it uses, sorted by name, with commas between them, then [End].
func Parts(e *catalog.Event) (own string, types []NamedText) {
	s := eventSchema{Event: e.Name.V, Version: e.Version.V, Payload: fieldSchemas(e.Fields)}
	if e.PartitionBy != nil {
		s.PartitionBy = e.PartitionBy.Name.V
	}
	fields := slices.Clone(e.Fields)
	for _, old := range e.History {
		if s.History == nil {
			s.History = map[int]ordered[Field]{}
		}
		s.History[old.Version.V] = fieldSchemas(old.Type.Fields)
		fields = append(fields, old.Type.Fields...)
	}
	own = strings.TrimSuffix(textOf(e, s), "}")
	named := map[string]Type{}
	for _, t := range catalog.Reachable(fields) {
		if !t.Inline {
			named[t.Name.V] = TypeOf(t)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		types = append(types, NamedText{name, textOf(e, name) + ":" + textOf(e, named[name])})
	}
	if types != nil {
		own += `,"types":{`
	}
	return own, types
}

// NamedText is the text of one type in a schema.
type NamedText struct{ Name, Text string }

// End is what closes a schema with these types.
func End(types []NamedText) string {
	if types == nil {
		return "}"
	}
	return "}}"
}

// textOf encodes a part of the schema of an event.
func textOf(e *catalog.Event, part any) string {
	text, err := plainjson.Marshal(part)
	if err != nil {
		panic(fmt.Sprintf("schema: that of %s: %v", e.Name.V, err)) // it is made of texts and numbers
	}
	return string(text)
}

// eventSchema is a schema. Its parts keep their order where messages show that order.
type eventSchema struct {
	Event       string                 `json:"event"`
	Version     int                    `json:"version"`
	PartitionBy string                 `json:"partition_by,omitempty"` // a personal field, for erasing a person
	Payload     ordered[Field]         `json:"payload"`
	History     map[int]ordered[Field] `json:"history,omitempty"`
	Types       map[string]Type        `json:"types,omitempty"` // written by [Parts]
}

// Type has the keys of one kind of types: a struct, an enum of strings or of numbers, a union, or a
// custom Go type.
type Type struct {
	Fields        ordered[Field]         `json:"fields,omitzero"`
	Enum          []string               `json:"enum,omitempty"`
	Numbers       ordered[int]           `json:"numbers,omitempty"`
	Discriminator string                 `json:"discriminator,omitempty"`
	OneOf         ordered[variantSchema] `json:"one_of,omitempty"`
	Custom        string                 `json:"custom,omitempty"` // what its JSON is
	Go            string                 `json:"go,omitempty"`     // in a Fact, its Go type
}

// variantSchema names a type, or has the fields of a struct in place.
type variantSchema struct {
	Type   string         `json:"type,omitempty"`
	Fields ordered[Field] `json:"fields,omitzero"`
}

// Constraints are those of a field, or of what is in a list or a map.
type Constraints struct {
	Min       *string      `json:"min,omitempty"`
	Max       *string      `json:"max,omitempty"`
	MinLength *int         `json:"min_length,omitempty"`
	MaxLength *int         `json:"max_length,omitempty"`
	Pattern   *string      `json:"pattern,omitempty"`
	Format    *string      `json:"format,omitempty"`
	MinItems  *int         `json:"min_items,omitempty"`
	MaxItems  *int         `json:"max_items,omitempty"`
	Unique    *bool        `json:"unique,omitempty"`
	Items     *Constraints `json:"items,omitempty"`  // of each in a list
	Values    *Constraints `json:"values,omitempty"` // of each in a map
}

// Field is a field. A field with nothing but a type is written as a string.
type Field struct {
	Type   string         `json:"type"`
	Fields ordered[Field] `json:"fields,omitzero"` // of a struct in place
	Constraints
	Was       []string        `json:"was,omitempty"`
	Sensitive bool            `json:"sensitive,omitempty"` // not in a Fact
	Personal  bool            `json:"personal,omitempty"`  // not in a Fact
	Default   json.RawMessage `json:"default,omitempty"`   // of a required field; in a Fact, of any

	Types map[string]Type `json:"types,omitempty"` // in a Fact, of a field that is gone: what it was made of
}

// IsInPlace reports whether the type is made of a struct in place.
func (s Field) IsInPlace() bool {
	bare, _ := catalog.CutMark(s.Type)
	return strings.HasSuffix(bare, catalog.InPlace)
}

// TypeOf returns the form of a type, with the forms of its fields.
func TypeOf(t *catalog.Type) Type {
	var s Type
	switch {
	case t.IsCustom():
		s.Custom = t.Custom.JSON.Text
	case t.IsEnum():
		for _, v := range t.Values {
			if t.Integer {
				s.Numbers = append(s.Numbers, named[int]{v.Name.V, v.Number})
			} else {
				s.Enum = append(s.Enum, v.Name.V)
			}
		}
	case t.IsUnion():
		s.Discriminator = t.Discriminator.V
		for _, v := range t.Variants {
			variant := variantSchema{Type: v.Type.Name.V}
			if v.Type.Inline {
				variant = variantSchema{Fields: fieldSchemas(v.Type.Fields)}
			}
			s.OneOf = append(s.OneOf, named[variantSchema]{v.Name.V, variant})
		}
	default:
		s.Fields = fieldSchemas(t.Fields)
	}
	return s
}

// fieldSchemas returns the fields that were not removed. It is never nil: a struct without fields has an
// empty object.
func fieldSchemas(fields []*catalog.Field) ordered[Field] {
	all := ordered[Field]{}
	for _, f := range fields {
		if !f.Removed {
			all = append(all, named[Field]{f.Name.V, FieldOf(f)})
		}
	}
	return all
}

// FieldOf returns the form of a field. A field that may have no value has no default there.
func FieldOf(f *catalog.Field) Field {
	s := Field{Type: f.Type.WireText(), Constraints: constraintsOf(f.Type, f.Constraints), Sensitive: f.Sensitive.V, Personal: f.Personal.V}
	for _, was := range f.Was {
		s.Was = append(s.Was, was.V)
	}
	if !f.Type.MayBeNil() {
		s.Default = f.Default.V
	}
	if t := f.Type.Declared(); t != nil && t.Inline {
		s.Fields = fieldSchemas(t.Fields)
	}
	return s
}

func constraintsOf(t *catalog.TypeRef, c catalog.Constraints) Constraints {
	s := Constraints{
		Min: boundText(c.Min), Max: boundText(c.Max),
		MinLength: ifWritten(c.MinLength), MaxLength: ifWritten(c.MaxLength),
		Pattern: patternText(c.Pattern), Format: ifWritten(c.Format),
		MinItems: ifWritten(c.MinItems), MaxItems: ifWritten(c.MaxItems), Unique: ifWritten(c.Unique),
	}
	if c.Each != nil && t.IsCollection() {
		each := constraintsOf(t.Elem, *c.Each)
		if s.Items = &each; t.Kind == catalog.Map {
			s.Items, s.Values = nil, &each
		}
	}
	return s
}

func boundText(v catalog.Value[catalog.Bound]) *string {
	return ifWritten(catalog.Value[string]{V: v.V.Text, Pos: v.Pos})
}

func patternText(v catalog.Value[catalog.Pattern]) *string {
	return ifWritten(catalog.Value[string]{V: v.V.Text, Pos: v.Pos})
}

func ifWritten[T any](v catalog.Value[T]) *T {
	if !v.Written() {
		return nil
	}
	return &v.V
}

// MarshalJSON implements [json.Marshaler].
func (s Field) MarshalJSON() ([]byte, error) {
	type long Field
	text, err := plainjson.Marshal(long(s))
	if only, _ := plainjson.Marshal(long{Type: s.Type}); err == nil && bytes.Equal(text, only) {
		return plainjson.Marshal(s.Type)
	}
	return text, err
}

// ordered is a JSON object whose entries have an order.
type ordered[T any] []named[T]

type named[T any] struct {
	name  string
	value T
}

// MarshalJSON implements [json.Marshaler].
func (o ordered[T]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, one := range o {
		b.WriteByte("{,"[min(i, 1)])
		name, err := plainjson.Marshal(one.name)
		if err != nil {
			return nil, err
		}
		value, err := plainjson.Marshal(one.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	if len(o) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
