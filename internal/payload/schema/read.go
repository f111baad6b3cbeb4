package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// Read reads a line that [Of] has written. It returns a catalogue with the one event, which is
// good for a check of payloads and nothing else. Messages call the schema file.
func Read(file, text string) (*catalog.Catalogue, error) {
	var s eventSchema
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%s is not JSON", file)
	}
	if err := Unmarshal([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("%s cannot be read by this version of busgen: %w", file, err)
	}
	r := NewReader(s.Types, diag.Position{File: file, Line: 1, Column: 1})
	e := &catalog.Event{Name: catalog.Value[string]{V: s.Event}, Version: catalog.Value[int]{V: s.Version}, Fields: r.Fields(s.Payload)}
	for _, f := range e.Fields {
		if f.Name.V == s.PartitionBy {
			e.PartitionBy = f
		}
	}
	for _, version := range slices.Sorted(maps.Keys(s.History)) {
		e.History = append(e.History, &catalog.OldShape{Version: catalog.Value[int]{V: version}, Type: &catalog.Type{Inline: true, Fields: r.Fields(s.History[version])}})
	}
	if r.Missing != nil {
		return nil, fmt.Errorf("%s cannot be read by this version of busgen: there is no type %q", file, r.Missing[0])
	}
	return &catalog.Catalogue{File: file, Events: []*catalog.Event{e}}, nil
}

// Reader makes the model of a schema.
type Reader struct {
	Types   map[string]*catalog.Type // those that are declared
	Missing []string                 // those that are not
	At      diag.Position            // where the schema is: the position of all that is in it
}

// NewReader returns a reader that knows the types of a schema, which is at a position.
func NewReader(all map[string]Type, at diag.Position) *Reader {
	r := &Reader{Types: map[string]*catalog.Type{}, At: at}
	for name := range all {
		r.Types[name] = &catalog.Type{Name: valueAt(at, name)}
	}
	for name, t := range all {
		r.Define(r.Types[name], t)
	}
	return r
}

// Define makes t the type that s describes.
func (r *Reader) Define(t *catalog.Type, s Type) {
	switch {
	case s.Custom != "":
		t.Custom = &catalog.Custom{JSON: r.ref(s.Custom, nil)}
		if i := strings.LastIndexByte(s.Go, '.'); i >= 0 {
			t.Custom.Import.V, t.Custom.Name.V = s.Go[:i], s.Go[i+1:]
		}
	case s.Enum != nil:
		for _, name := range s.Enum {
			t.Values = append(t.Values, &catalog.EnumValue{Name: valueAt(r.At, name)})
		}
	case s.Numbers != nil:
		t.Integer = true
		for _, one := range s.Numbers {
			t.Values = append(t.Values, &catalog.EnumValue{Name: valueAt(r.At, one.name), Number: one.value})
		}
	case s.Discriminator != "":
		t.Discriminator, t.Variants = valueAt(r.At, s.Discriminator), []*catalog.Variant{}
		for _, one := range s.OneOf {
			variant := &catalog.Variant{Name: valueAt(r.At, one.name), Type: &catalog.Type{Inline: true}}
			if one.value.Type != "" {
				variant.Type = r.declared(one.value.Type)
			} else {
				variant.Type.Fields = r.Fields(one.value.Fields)
			}
			t.Variants = append(t.Variants, variant)
		}
	default:
		t.Fields = r.Fields(s.Fields)
	}
}

func (r *Reader) declared(name string) *catalog.Type {
	if t := r.Types[name]; t != nil {
		return t
	}
	r.Missing = append(r.Missing, name)
	return &catalog.Type{}
}

// Fields returns the fields of a struct in their order.
func (r *Reader) Fields(all ordered[Field]) []*catalog.Field {
	var fields []*catalog.Field
	for _, one := range all {
		var inline *catalog.Type
		if one.value.Fields != nil {
			inline = &catalog.Type{Inline: true, Fields: r.Fields(one.value.Fields)}
		}
		fields = append(fields, r.Field(one.name, one.value, inline))
	}
	return fields
}

// Field returns a field. inline is the type of a struct in place; it may be nil.
func (r *Reader) Field(name string, s Field, inline *catalog.Type) *catalog.Field {
	t := r.ref(s.Type, inline)
	f := &catalog.Field{Name: valueAt(r.At, name), Type: t, Constraints: s.of(t, r.At)}
	f.Sensitive, f.Personal = ifTrue(s.Sensitive, r.At), ifTrue(s.Personal, r.At)
	for _, was := range s.Was {
		f.Was = append(f.Was, valueAt(r.At, was))
	}
	if s.Default != nil {
		f.Default = valueAt(r.At, s.Default)
	}
	return f
}

// of returns the constraints of values of a type.
func (s Constraints) of(t *catalog.TypeRef, at diag.Position) catalog.Constraints {
	c := catalog.Constraints{
		Min: bound(t.Kind, s.Min, at), Max: bound(t.Kind, s.Max, at), MinLength: written(s.MinLength, at), MaxLength: written(s.MaxLength, at),
		Pattern: pattern(s.Pattern, at), Format: written(s.Format, at), MinItems: written(s.MinItems, at), MaxItems: written(s.MaxItems, at),
		Unique: written(s.Unique, at),
	}
	each := s.Items
	if t.Kind == catalog.Map {
		each = s.Values
	}
	if each != nil && t.IsCollection() {
		of := each.of(t.Elem, at)
		c.Each = &of
	}
	return c
}

// ref reads the text of a type.
func (r *Reader) ref(text string, inline *catalog.Type) *catalog.TypeRef {
	inner, mark := catalog.CutMark(text)
	t := &catalog.TypeRef{Optional: mark == catalog.OptionalMark, Nullable: mark == catalog.NullMark, Text: text, Pos: r.At}
	if kind, elem, ok := catalog.CutElem(inner); ok {
		t.Kind, t.Elem = kind, r.ref(elem, inline)
		return t
	}
	if t.Kind = catalog.Scalars[inner]; t.Kind != 0 {
		return t
	}
	t.Kind, t.Named = catalog.Named, inline
	if inner != catalog.InPlace || inline == nil {
		t.Named = r.declared(inner)
	}
	return t
}

// bound returns no bound if the text is nil.
func bound(kind catalog.Kind, text *string, at diag.Position) (v catalog.Value[catalog.Bound]) {
	if text == nil {
		return v
	}
	limit := catalog.NewBound(kind, *text)
	return valueAt(at, limit)
}

// pattern returns no pattern if the text is nil. It keeps a text that is not a regular expression here: a
// pattern that was dropped would look like one that is added, and payloads would pass unchecked.
func pattern(text *string, at diag.Position) (v catalog.Value[catalog.Pattern]) {
	if text == nil {
		return v
	}
	p, _ := catalog.NewPattern(*text)
	return valueAt(at, p)
}

func ifTrue(v bool, at diag.Position) catalog.Value[bool] {
	if !v {
		return catalog.Value[bool]{}
	}
	return valueAt(at, v)
}

func written[T any](v *T, at diag.Position) catalog.Value[T] {
	if v == nil {
		return catalog.Value[T]{}
	}
	return valueAt(at, *v)
}

func valueAt[T any](at diag.Position, v T) catalog.Value[T] { return catalog.Value[T]{V: v, Pos: at} }

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Field) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &s.Type)
	}
	type long Field
	return Unmarshal(data, (*long)(s))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *ordered[T]) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if first, _ := d.Token(); first != json.Delim('{') {
		return fmt.Errorf("want an object, got %s", data)
	}
	*o = ordered[T]{}
	for d.More() {
		name, _ := d.Token() // data is valid
		one := named[T]{name: name.(string)}
		var raw json.RawMessage
		d.Decode(&raw)
		if err := Unmarshal(raw, &one.value); err != nil {
			return err
		}
		*o = append(*o, one)
	}
	return nil
}

// Unmarshal decodes JSON and refuses unknown keys. Ignoring them would ignore what they say.
func Unmarshal(data []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(value)
}
