package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/busgen/busgen/internal/diag"
)

// ReadSchema returns a catalogue with the one event of a text that [Event.Schema] has made. Nothing
// but [Catalogue.CheckPayload] may be asked of it. File is what its messages call the schema.
func ReadSchema(file, text string) (*Catalogue, error) {
	var s eventSchema
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%s is not JSON", file)
	}
	if err := readStrictly([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("%s cannot be read by this version of busgen: %w", file, err)
	}
	r := readTypes(s.Types)
	e := &Event{Name: Value[string]{V: s.Event}, Version: Value[int]{V: s.Version}, Fields: r.fields(s.Payload)}
	for version := range maxVersion {
		if old, kept := s.History[version]; kept {
			e.History = append(e.History, &OldShape{Version: Value[int]{V: version}, Type: &Type{Inline: true, Fields: r.fields(old)}})
		}
	}
	if r.missing != nil {
		return nil, fmt.Errorf("%s cannot be read by this version of busgen: there is no type %q", file, r.missing[0])
	}
	return &Catalogue{File: file, Events: []*Event{e}}, nil
}

// schemaReader makes the model of a schema.
type schemaReader struct {
	types   map[string]*Type // those that are declared
	missing []string         // those that are not
}

func readTypes(all map[string]typeSchema) *schemaReader {
	r := &schemaReader{types: map[string]*Type{}}
	for name := range all {
		r.types[name] = &Type{Name: Value[string]{V: name}}
	}
	for name, t := range all {
		r.typ(r.types[name], t)
	}
	return r
}

func (r *schemaReader) typ(t *Type, s typeSchema) {
	switch {
	case s.Custom != "":
		t.Custom = &Custom{JSON: r.ref(s.Custom, nil)}
		if i := strings.LastIndexByte(s.Go, '.'); i >= 0 {
			t.Custom.Import.V, t.Custom.Name.V = s.Go[:i], s.Go[i+1:]
		}
	case s.Enum != nil:
		for _, name := range s.Enum {
			t.Values = append(t.Values, &EnumValue{Name: Value[string]{V: name}})
		}
	case s.Numbers != nil:
		t.Integer = true
		for _, one := range s.Numbers {
			t.Values = append(t.Values, &EnumValue{Name: Value[string]{V: one.name}, Number: one.value})
		}
	case s.Discriminator != "":
		t.Discriminator, t.Variants = Value[string]{V: s.Discriminator}, []*Variant{}
		for _, one := range s.OneOf {
			variant := &Variant{Name: Value[string]{V: one.name}, Type: &Type{Inline: true}}
			if one.value.Type != "" {
				variant.Type = r.declared(one.value.Type)
			} else {
				variant.Type.Fields = r.fields(one.value.Fields)
			}
			t.Variants = append(t.Variants, variant)
		}
	default:
		t.Fields = r.fields(s.Fields)
	}
}

func (r *schemaReader) declared(name string) *Type {
	if t := r.types[name]; t != nil {
		return t
	}
	r.missing = append(r.missing, name)
	return &Type{}
}

func (r *schemaReader) fields(all ordered[fieldSchema]) []*Field {
	var fields []*Field
	for _, one := range all {
		var inline *Type
		if one.value.Fields != nil {
			inline = &Type{Inline: true, Fields: r.fields(one.value.Fields)}
		}
		fields = append(fields, r.field(one.name, one.value, inline))
	}
	return fields
}

func (r *schemaReader) field(name string, s fieldSchema, inline *Type) *Field {
	f := &Field{
		Name: Value[string]{V: name}, Type: r.ref(s.Type, inline),
		Constraints: Constraints{
			Min: written(s.Min), Max: written(s.Max), MinLength: written(s.MinLength), MaxLength: written(s.MaxLength),
			Pattern: written(s.Pattern), Format: written(s.Format), MinItems: written(s.MinItems), MaxItems: written(s.MaxItems),
			Unique: written(s.Unique),
		},
	}
	for _, was := range s.Was {
		f.Was = append(f.Was, written(&was))
	}
	if s.Default != nil {
		f.Default = written(&s.Default)
	}
	return f
}

// ref reads the text of a type.
func (r *schemaReader) ref(text string, inline *Type) *TypeRef {
	inner, optional := strings.CutSuffix(text, "?")
	t := &TypeRef{Optional: optional, Text: text}
	for _, shape := range shapes {
		if elem, ok := strings.CutPrefix(inner, shape.prefix); ok {
			t.Kind, t.Elem = shape.kind, r.ref(elem, inline)
			return t
		}
	}
	if t.Kind = scalarKinds[inner]; t.Kind != 0 {
		return t
	}
	t.Kind, t.Named = Named, inline
	if inner != inPlace || inline == nil {
		t.Named = r.declared(inner)
	}
	return t
}

// written is a value that has a place, as one that was written in a file.
func written[T any](v *T) Value[T] {
	if v == nil {
		return Value[T]{}
	}
	return Value[T]{V: *v, Pos: diag.Position{Line: 1, Column: 1}}
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *fieldSchema) UnmarshalJSON(data []byte) error {
	if jsonKind(data) == "a text" {
		return json.Unmarshal(data, &s.Type)
	}
	type long fieldSchema
	return readStrictly(data, (*long)(s))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *ordered[T]) UnmarshalJSON(data []byte) (err error) {
	if jsonKind(data) != "an object" {
		return fmt.Errorf("want an object, got %s", jsonKind(data))
	}
	*o = ordered[T]{}
	entries(data, func(name string, raw json.RawMessage) {
		one := named[T]{name: name}
		if err == nil {
			err = readStrictly(raw, &one.value)
		}
		*o = append(*o, one)
	})
	return err
}

// readStrictly refuses keys that this version does not know: what they say would be ignored.
func readStrictly(data []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(value)
}
