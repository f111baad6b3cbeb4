package types

import (
	"encoding/json"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/payload"
)

// fieldKeys are the keys of a field that is written as a mapping.
var fieldKeys = append([]string{"type", "mixins", "fields", "reserved", "doc", "deprecated", "go_name", "json", "was", "sensitive", "personal", "default"}, constraintKeys...)

// Owner says to what fields belong.
type Owner struct {
	What      string // for messages: payload of event order.placed
	GoName    string // of the struct
	JSONNames catalog.JSONNames
	depth     int // how many structs in place are around it
}

// fields reads a payload or the fields of a struct, in which some names are reserved.
func (r *Types) fields(n *yaml.Node, of Owner, reserved []catalog.Value[string]) []*catalog.Field {
	entries, _ := r.Mapping(n, of.What)
	var fields, named []*catalog.Field
	for _, e := range entries {
		f := r.field(e, of)
		named = append(named, f)
		if f.Type != nil {
			fields = append(fields, f)
		}
	}
	var names []reservedName
	for _, name := range reserved {
		names = append(names, reservedName{name, nil})
	}
	all := fieldNames{Reader: r.Reader, what: of.What}
	all.check(named, names)
	return fields
}

// field reads one field: the text of its type, or a mapping with the type and more. It has no Type
// after a finding about that.
func (r *Types) field(e text.Entry, of Owner) *catalog.Field {
	local := catalog.Value[string]{V: e.Name, Pos: r.Position(e.Key)}
	f := &catalog.Field{Name: local, Local: local, JSONNames: of.JSONNames, GoName: r.names.GoName(e.Name)}
	here := "field " + diag.Label(e.Name) + " of " + of.What
	if !catalog.FieldName.MatchString(e.Name) {
		r.Report(r.Place(e.Key), rules.BadName, "%s does not have a valid name", here).
			Hint = "use lower-case letters, digits and _, and begin with a letter, as in order_id"
	} else {
		f.Name.V = of.JSONNames.Of(e.Name)
	}
	if e.Value.Kind != yaml.MappingNode {
		f.Type, f.Doc = r.TypeRef(e.Value, here, nil), r.CommentAbove(e.Key)
		r.later = append(r.later, func() {
			if f.Type != nil {
				f.Constraints = f.Constraints.WithScalars(f.Type)
			}
		})
	} else {
		r.longField(e, f, here, of)
	}
	return f
}

// longField reads a field that is written as a mapping.
func (r *Types) longField(e text.Entry, f *catalog.Field, here string, of Owner) {
	o, _ := r.Object(e.Value, here, fieldKeys...)
	f.Doc, f.Deprecated, f.GoName = r.Doc(e.Key, o), r.Deprecated(o), r.names.OwnGoName(o, f.GoName)
	if f.OwnJSON = r.names.OwnJSONName(o); f.OwnJSON.Written() {
		f.Name.V = f.OwnJSON.V
	}
	f.Was = r.names.Former(o)
	f.Sensitive, f.Personal = r.Flag(o, "sensitive"), r.Flag(o, "personal")
	inline := r.inline(o, f, of)
	typeEntry, ok := o.Entries["type"]
	switch {
	case ok:
		f.Type = r.TypeRef(typeEntry.Value, here, inline)
	case inline != nil:
		at := r.Position(o.Entries["fields"].Key)
		f.Type = &catalog.TypeRef{Kind: catalog.Named, Named: inline, Text: catalog.InPlace, Pos: at}
	default:
		r.Required(o, "type", "add one, such as type: string")
	}
	r.later = append(r.later, func() {
		if f.Type != nil {
			f.Constraints = constraints(r.Reader, o, f.Type).WithScalars(f.Type)
			f.Default = r.defaultOf(o, f)
		}
	})
}

// inline reads the struct that a field has of its own, or returns nil.
func (r *Types) inline(o text.Object, f *catalog.Field, of Owner) *catalog.Type {
	e, ok := o.Entries["fields"]
	if !ok {
		for key, hint := range besideFields {
			if extra, written := o.Entries[key]; written {
				r.Report(r.Place(extra.Key), rules.Conflict, "%s has the key %s but no fields", o.What, key).Hint = hint
			}
		}
		return nil
	}
	goName := catalog.Value[string]{V: of.GoName + f.GoName, Pos: f.Name.Pos}
	return r.inlineStruct(o, e, goName, Owner{What: o.What, depth: of.depth + 1, JSONNames: of.JSONNames})
}

// besideFields has keys that stand beside fields, and what to say of one that does not.
var besideFields = map[string]string{
	"reserved": "reserved lists names that no field may have: write it beside fields, or beside the payload of an event",
	"mixins":   "mixins lists structs whose fields a struct has too: write it beside fields, or beside the payload of an event",
}

// inlineStruct reads a struct that is written in place: the fields, and what o says of them beside.
func (r *Types) inlineStruct(o text.Object, fields text.Entry, goName catalog.Value[string], of Owner) *catalog.Type {
	t := &catalog.Type{Name: goName, GoName: goName.V, Inline: true}
	if of.depth > maxNesting {
		r.Report(r.Place(fields.Key), rules.BadType, "%s is nested in %d other structs", of.What, maxNesting).
			Hint = "declare a type for a part of it"
		return t
	}
	of.GoName = t.GoName
	t.Reserved = r.names.Reserved(o)
	r.StructOf(o, fields.Name, t, of)
	return t
}

// StructOf reads the fields of t, which are under a key of o, and its mixins.
func (r *Types) StructOf(o text.Object, key string, t *catalog.Type, of Owner) {
	if t.Inline {
		r.Inlines = append(r.Inlines, t)
	}
	if e, ok := o.Entries[key]; ok {
		t.Fields = r.fields(e.Value, of, t.Reserved)
	}
	r.mixins(o, t, of.What)
}

// defaultOf reads the default of a field.
func (r *Types) defaultOf(o text.Object, f *catalog.Field) catalog.Value[json.RawMessage] {
	e, ok := o.Entries["default"]
	if !ok {
		return catalog.Value[json.RawMessage]{}
	}
	bare := f.Type.Bare()
	if !f.Type.TakesDefault() {
		r.Report(r.Place(e.Key), rules.Default, "%s cannot have a default, because its type is %s", o.What, f.Type.Text).
			See(r.TypeAt(f.Type), "the type is here").
			Hint = "only scalars have defaults: strings, numbers, booleans, dates, durations, UUIDs and enums"
		return catalog.Value[json.RawMessage]{}
	}
	text, ok := JSON(r.Reader, e.Value, "default of "+o.What, bare, true, rules.Default)
	if !ok {
		return catalog.Value[json.RawMessage]{}
	}
	for _, problem := range payload.CheckField(&catalog.Field{Type: bare, Constraints: f.Constraints}, text) {
		r.Report(r.Place(e.Value), rules.Default, "default of %s: %s", o.What, problem.Message)
	}
	return catalog.Value[json.RawMessage]{V: text, Pos: r.Position(e.Value)}
}
