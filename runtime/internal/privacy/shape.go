// Package privacy hides and redacts parts of payloads: the values of fields that a catalogue calls sensitive or
// personal. It knows the fields from the schema that the log keeps of an event type, so that it needs no
// catalogue.
//
//	[Read]          reads a schema
//	[Shape.Hide]    replaces sensitive values, for people who look
//	[Shape.Redact]  replaces personal values, for good
//	[Shape.Names]   reports whether a payload is about a person
//	[Carried]       says whose fields are in a payload that carries another
//	[Shape.Compare] says how the fields differ from those of another schema
//
// Everything here is a pure function. A payload that does not fit its schema loses what cannot be understood: it
// is better to hide too much.
package privacy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Shape is what a schema says of the payloads of one event type. Nil is that of a type without a schema.
type Shape struct {
	version   int
	payload   *structure
	history   map[int]*structure
	unknown   bool // the schema cannot be read
	flagged   flags
	partition string // the name of the partition key's field; empty for none
}

// flags are those of a field.
type flags struct{ sensitive, personal bool }

// structure is a struct, an enum, a union or a custom type.
type structure struct {
	fields        []*field
	byKey         map[string]*field // by name, and by former names
	enum          json.RawMessage   // its first value; nil for others
	discriminator string
	variants      []variant
	custom        *ref // the type of its JSON
	height        int  // greater than that of what its smallest values need
	inline        bool // it has no name, so that only one field has it
}

type variant struct {
	name string
	of   *structure
}

type field struct {
	name string
	was  []string // its former names
	flags
	of     *ref
	stands bool // a default stands in for it
}

// ref is the type of a value.
type ref struct {
	optional bool
	nullable bool
	list     *ref // of these
	entries  *ref // a map to these
	scalar   string
	named    *structure
}

// Read reads a schema. It returns nil for an empty text. A schema that cannot be read, because a newer busgen has
// written it, hides everything.
func Read(text string) *Shape {
	if text == "" {
		return nil
	}
	s := &Shape{}
	if err := s.read(text); err != nil {
		return &Shape{unknown: true, flagged: flags{sensitive: true}}
	}
	return s
}

// written is the JSON of a schema; see package internal/payload/schema, which writes it.
type written struct {
	Version     int                        `json:"version"`
	PartitionBy string                     `json:"partition_by"`
	Payload     json.RawMessage            `json:"payload"`
	History     map[int]json.RawMessage    `json:"history"`
	Types       map[string]json.RawMessage `json:"types"`
}

type writtenType struct {
	Fields        json.RawMessage `json:"fields"`
	Enum          []string        `json:"enum"`
	Numbers       json.RawMessage `json:"numbers"`
	Discriminator string          `json:"discriminator"`
	OneOf         json.RawMessage `json:"one_of"`
	Custom        string          `json:"custom"`
}

type writtenField struct {
	Type      string          `json:"type"`
	Fields    json.RawMessage `json:"fields"`
	Was       []string        `json:"was"`
	Sensitive bool            `json:"sensitive"`
	Personal  bool            `json:"personal"`
	Default   json.RawMessage `json:"default"`
}

func (s *Shape) read(text string) error {
	var w written
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return err
	}
	r := &reader{shape: s, types: map[string]*structure{}}
	for name := range w.Types {
		r.types[name] = r.new()
	}
	for name, one := range w.Types {
		if err := r.define(r.types[name], one); err != nil {
			return err
		}
	}
	var err error
	s.version, s.partition, s.history = w.Version, w.PartitionBy, map[int]*structure{}
	if s.payload, err = r.structOf(w.Payload); err != nil {
		return err
	}
	for version, fields := range w.History {
		if s.history[version], err = r.structOf(fields); err != nil {
			return err
		}
		s.history[version].inherit(s.payload)
	}
	return r.measure()
}

// measure sets the heights. A structure without one has no values: each would need another one, without end.
func (r *reader) measure() error {
	for left := r.all; len(left) > 0; {
		var without []*structure
		for _, s := range left {
			if s.height = s.measured(); s.height == 0 {
				without = append(without, s)
			}
		}
		if len(without) == len(left) {
			return errors.New("a value of a type would have no end")
		}
		left = without
	}
	return nil
}

// measured returns the height of a structure; 0 if those that it needs are not known yet.
func (s *structure) measured() int {
	highest := 1
	switch {
	case s.custom != nil:
		highest = s.custom.height()
	case s.variants != nil:
		highest = s.smallest().of.height
	}
	for _, f := range s.fields {
		if h := f.of.height(); !f.of.optional && (h == 0 || h > highest) {
			highest = h
		}
		if highest == 0 {
			break
		}
	}
	if highest == 0 {
		return 0
	}
	return highest + 1
}

// smallest returns the variant of a union with the smallest values.
func (s *structure) smallest() variant {
	return slices.MinFunc(s.variants, func(a, b variant) int {
		return cmp.Compare(uint(a.of.height-1), uint(b.of.height-1)) // those without a height are the last
	})
}

func (t *ref) height() int {
	if t.nullable || t.named == nil {
		return 1
	}
	return t.named.height
}

// inherit gives the fields of an old version the flags of the fields that they are now.
func (s *structure) inherit(now *structure) {
	for _, f := range s.fields {
		current := now.byKey[f.name]
		if current == nil {
			continue
		}
		f.sensitive, f.personal = f.sensitive || current.sensitive, f.personal || current.personal
		if of, is := f.of.innermost(), current.of.innermost(); of != nil && of.inline && is != nil {
			of.inherit(is)
		}
	}
}

// innermost returns the structure of the values in lists and maps; nil for a scalar.
func (t *ref) innermost() *structure {
	for t.list != nil || t.entries != nil {
		t = cmp.Or(t.list, t.entries)
	}
	return t.named
}

type reader struct {
	shape *Shape
	types map[string]*structure
	all   []*structure
}

func (r *reader) new() *structure {
	s := &structure{}
	r.all = append(r.all, s)
	return s
}

func (r *reader) define(t *structure, text json.RawMessage) error {
	var w writtenType
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	switch {
	case w.Custom != "":
		var err error
		t.custom, err = r.ref(w.Custom, nil)
		return err
	case len(w.Enum) > 0:
		t.enum = quote(w.Enum[0])
	case w.Numbers != nil:
		for _, m := range members(w.Numbers) {
			t.enum = m.value
			break
		}
	case w.Discriminator != "":
		t.discriminator = w.Discriminator
		for _, m := range members(w.OneOf) {
			var one struct {
				Type   string          `json:"type"`
				Fields json.RawMessage `json:"fields"`
			}
			if err := json.Unmarshal(m.value, &one); err != nil {
				return err
			}
			v := variant{name: m.key, of: r.types[one.Type]}
			if one.Type == "" {
				v.of = r.new()
				if err := r.fields(v.of, one.Fields); err != nil {
					return err
				}
			}
			if v.of == nil {
				return fmt.Errorf("there is no type %q", one.Type)
			}
			t.variants = append(t.variants, v)
		}
	default:
		return r.fields(t, w.Fields)
	}
	return nil
}

func (r *reader) structOf(fields json.RawMessage) (*structure, error) {
	s := r.new()
	return s, r.fields(s, fields)
}

func (r *reader) fields(s *structure, text json.RawMessage) error {
	s.byKey = map[string]*field{}
	if text == nil {
		return nil
	}
	for _, m := range members(text) {
		var w writtenField
		if m.value[0] == '"' {
			w.Type = unquote(m.value)
		} else if err := json.Unmarshal(m.value, &w); err != nil {
			return err
		}
		var inline *structure
		if w.Fields != nil {
			inline = r.new()
			inline.inline = true
			if err := r.fields(inline, w.Fields); err != nil {
				return err
			}
		}
		of, err := r.ref(w.Type, inline)
		if err != nil {
			return err
		}
		f := &field{name: m.key, was: w.Was, flags: flags{w.Sensitive, w.Personal}, of: of, stands: w.Default != nil}
		r.shape.flagged.sensitive = r.shape.flagged.sensitive || w.Sensitive
		r.shape.flagged.personal = r.shape.flagged.personal || w.Personal
		s.fields = append(s.fields, f)
		for _, was := range w.Was {
			if s.byKey[was] == nil {
				s.byKey[was] = f
			}
		}
		s.byKey[m.key] = f
	}
	return nil
}

// mostNested is how deep lists and maps may nest in the type of a field: more than a catalogue allows.
const mostNested = 100

// ref reads the text of a type.
func (r *reader) ref(text string, inline *structure) (*ref, error) {
	if strings.Count(text, "[") > mostNested {
		return nil, errors.New("lists and maps are nested too deeply")
	}
	bare, optional := strings.CutSuffix(text, "?")
	bare, nullable := strings.CutSuffix(bare, "|null")
	t := &ref{optional: optional, nullable: nullable}
	var err error
	if elem, ok := strings.CutPrefix(bare, "[]"); ok {
		t.list, err = r.ref(elem, inline)
		return t, err
	}
	if elem, ok := strings.CutPrefix(bare, "map[string]"); ok {
		t.entries, err = r.ref(elem, inline)
		return t, err
	}
	if _, ok := neutrals[bare]; ok {
		t.scalar = bare
		return t, nil
	}
	if t.named = r.types[bare]; bare == "{}" && inline != nil {
		t.named = inline
	}
	if t.named == nil {
		return nil, fmt.Errorf("there is no type %q", bare)
	}
	return t, nil
}

// of returns the struct of the payloads of a version: for one that the schema does not know, the newest.
func (s *Shape) of(version int) *structure {
	if old := s.history[version]; old != nil {
		return old
	}
	return s.payload
}

// Unknown reports whether there is a schema that cannot be read.
func (s *Shape) Unknown() bool { return s != nil && s.unknown }

// Sensitive reports whether payloads may have something to hide.
func (s *Shape) Sensitive() bool { return s != nil && s.flagged.sensitive }

// Personal reports whether some field is personal.
func (s *Shape) Personal() bool { return s != nil && s.flagged.personal }
