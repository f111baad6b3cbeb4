package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Schema returns one line of JSON with all that [Catalogue.CheckPayload] needs to know of e.
// [ReadSchema] reads it. Generated code carries it, and the bus stores it in its file. The words
// are those of the catalogue. Docs, settings, defaults of optional fields and Go names are not part
// of it, and it does not depend on other events, files or packages.
func (e *Event) Schema() string {
	s := eventSchema{Event: e.Name.V, Version: e.Version.V, Payload: fieldSchemas(e.Fields), Types: map[string]typeSchema{}}
	fields := slices.Clone(e.Fields)
	for _, old := range e.History {
		if s.History == nil {
			s.History = map[int]ordered[fieldSchema]{}
		}
		s.History[old.Version.V] = fieldSchemas(old.Type.Fields)
		fields = append(fields, old.Type.Fields...)
	}
	for _, t := range reachable(fields) {
		if !t.Inline {
			s.Types[t.Name.V] = typeSchemaOf(t)
		}
	}
	text, err := schemaJSON(s)
	if err != nil {
		panic(fmt.Sprintf("catalog: the schema of %s: %v", e.Name.V, err)) // it is made of texts and numbers
	}
	return string(text)
}

// eventSchema is a schema as JSON. The parts of it have an order of their own where that of the
// catalogue shows in messages.
type eventSchema struct {
	Event   string                       `json:"event"`
	Version int                          `json:"version"`
	Payload ordered[fieldSchema]         `json:"payload"`
	History map[int]ordered[fieldSchema] `json:"history,omitempty"`
	Types   map[string]typeSchema        `json:"types,omitempty"`
}

// typeSchema has the keys of one kind of types: a struct, an enum of texts or of numbers, a
// union, or a custom Go type.
type typeSchema struct {
	Fields        ordered[fieldSchema]   `json:"fields,omitzero"`
	Enum          []string               `json:"enum,omitempty"`
	Numbers       ordered[int]           `json:"numbers,omitempty"`
	Discriminator string                 `json:"discriminator,omitempty"`
	OneOf         ordered[variantSchema] `json:"one_of,omitempty"`
	Custom        string                 `json:"custom,omitempty"` // what its JSON is
	Go            string                 `json:"go,omitempty"`     // in a Fact, its Go type
}

// variantSchema names a type, or has the fields of a struct in place.
type variantSchema struct {
	Type   string               `json:"type,omitempty"`
	Fields ordered[fieldSchema] `json:"fields,omitzero"`
}

// fieldSchema is a field; one of which only the type is known is the text of that.
type fieldSchema struct {
	Type      string               `json:"type"`
	Fields    ordered[fieldSchema] `json:"fields,omitzero"` // of a struct in place
	Min       *string              `json:"min,omitempty"`
	Max       *string              `json:"max,omitempty"`
	MinLength *int                 `json:"min_length,omitempty"`
	MaxLength *int                 `json:"max_length,omitempty"`
	Pattern   *string              `json:"pattern,omitempty"`
	Format    *string              `json:"format,omitempty"`
	MinItems  *int                 `json:"min_items,omitempty"`
	MaxItems  *int                 `json:"max_items,omitempty"`
	Unique    *bool                `json:"unique,omitempty"`
	Was       []string             `json:"was,omitempty"`
	Default   json.RawMessage      `json:"default,omitempty"` // of a required field; in a Fact, of any

	Types map[string]typeSchema `json:"types,omitempty"` // in a Fact, of a field that is gone: what it was made of
}

func typeSchemaOf(t *Type) typeSchema {
	var s typeSchema
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

// fieldSchemas is never nil: a struct without fields has an empty object. Fields that are gone are left out.
func fieldSchemas(fields []*Field) ordered[fieldSchema] {
	all := ordered[fieldSchema]{}
	for _, f := range fields {
		if !f.Removed {
			all = append(all, named[fieldSchema]{f.Name.V, fieldSchemaOf(f)})
		}
	}
	return all
}

func fieldSchemaOf(f *Field) fieldSchema {
	c := f.Constraints
	s := fieldSchema{
		Type: f.Type.Text,
		Min:  ifWritten(c.Min), Max: ifWritten(c.Max),
		MinLength: ifWritten(c.MinLength), MaxLength: ifWritten(c.MaxLength),
		Pattern: ifWritten(c.Pattern), Format: ifWritten(c.Format),
		MinItems: ifWritten(c.MinItems), MaxItems: ifWritten(c.MaxItems), Unique: ifWritten(c.Unique),
	}
	for _, was := range f.Was {
		s.Was = append(s.Was, was.V)
	}
	if !f.Type.Optional {
		s.Default = f.Default.V
	}
	if t := f.Type.named(); t != nil && t.Inline {
		s.Fields = fieldSchemas(t.Fields)
	}
	return s
}

func ifWritten[T any](v Value[T]) *T {
	if !v.Written() {
		return nil
	}
	return &v.V
}

// MarshalJSON implements [json.Marshaler].
func (s fieldSchema) MarshalJSON() ([]byte, error) {
	type long fieldSchema
	text, err := schemaJSON(long(s))
	if only, _ := schemaJSON(long{Type: s.Type}); err == nil && bytes.Equal(text, only) {
		return schemaJSON(s.Type)
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
		name, err := schemaJSON(one.name)
		if err != nil {
			return nil, err
		}
		value, err := schemaJSON(one.value)
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

// schemaJSON is value as JSON, with <, > and & as they are.
func schemaJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// CustomTypes lists the custom Go types in the payload of an event in a version, as the catalogue
// calls them. Nobody but generated code knows which values they take.
func (c *Catalogue) CustomTypes(eventType string, version int) []string {
	e := c.EventNamed(eventType)
	if e == nil {
		return nil
	}
	fields, _ := e.FieldsOf(version)
	var names []string
	for _, t := range reachable(fields) {
		if t.IsCustom() {
			names = append(names, t.Name.V)
		}
	}
	slices.Sort(names)
	return names
}
