package parse

import (
	"encoding/json"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/payload"
)

const fieldNameHint = "use lower-case letters, digits and _, and begin with a letter, as in order_id"

// fieldKeys are the keys of a field that is written as a mapping.
var fieldKeys = append([]string{"type", "mixins", "fields", "reserved", "doc", "deprecated", "go_name", "json", "was", "sensitive", "personal", "default"}, constraintKeys...)

// owner says to what fields belong.
type owner struct {
	what   string // for messages: payload of event order.placed
	goName string // of the struct
	json   catalog.JSONNames
	depth  int // how many structs in place are around it
}

// fields reads a payload or the fields of a struct, in which some names are reserved.
func (r *Types) fields(n *yaml.Node, of owner, reserved []catalog.Value[string]) []*catalog.Field {
	entries, _ := r.mapping(n, of.what)
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
	all := fieldNames{Reader: r.Reader, what: of.what}
	all.check(named, names)
	return fields
}

// field reads one field: the text of its type, or a mapping with the type and more. It has no Type
// after a finding about that.
func (r *Types) field(e entry, of owner) *catalog.Field {
	local := catalog.Value[string]{V: e.name, Pos: r.position(e.key)}
	f := &catalog.Field{Name: local, Local: local, JSONNames: of.json, GoName: r.names.goName(e.name)}
	here := "field " + diag.Label(e.name) + " of " + of.what
	if !catalog.FieldName.MatchString(e.name) {
		r.report(r.place(e.key), rules.BadName, "%s does not have a valid name", here).
			Hint = fieldNameHint
	} else {
		f.Name.V = of.json.Of(e.name)
	}
	if e.value.Kind != yaml.MappingNode {
		f.Type, f.Doc = r.typeRef(e.value, here, nil), r.commentAbove(e.key)
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
func (r *Types) longField(e entry, f *catalog.Field, here string, of owner) {
	o, _ := r.object(e.value, here, fieldKeys...)
	f.Doc, f.Deprecated, f.GoName = r.doc(e.key, o), r.deprecated(o), r.names.ownGoName(o, f.GoName)
	if f.OwnJSON = r.names.ownJSONName(o); f.OwnJSON.Written() {
		f.Name.V = f.OwnJSON.V
	}
	f.Was = r.names.former(o)
	f.Sensitive, f.Personal = r.flag(o, "sensitive"), r.flag(o, "personal")
	inline := r.inline(o, f, of)
	typeEntry, ok := o.entries["type"]
	switch {
	case ok:
		f.Type = r.typeRef(typeEntry.value, here, inline)
	case inline != nil:
		f.Type = &catalog.TypeRef{Kind: catalog.Named, Named: inline, Text: catalog.InPlace, Pos: r.position(o.entries["fields"].key)}
	default:
		r.required(o, "type", "add one, such as type: string")
	}
	r.later = append(r.later, func() {
		if f.Type != nil {
			f.Constraints = constraints(r.Reader, o, f.Type).WithScalars(f.Type)
			f.Default = r.defaultOf(o, f)
		}
	})
}

// inline reads the struct that a field has of its own, or returns nil.
func (r *Types) inline(o object, f *catalog.Field, of owner) *catalog.Type {
	e, ok := o.entries["fields"]
	if !ok {
		for key, hint := range besideFields {
			if extra, written := o.entries[key]; written {
				r.report(r.place(extra.key), rules.Conflict, "%s has the key %s but no fields", o.what, key).Hint = hint
			}
		}
		return nil
	}
	return r.inlineStruct(o, e, catalog.Value[string]{V: of.goName + f.GoName, Pos: f.Name.Pos}, owner{what: o.what, depth: of.depth + 1, json: of.json})
}

// besideFields has keys that stand beside fields, and what to say of one that does not.
var besideFields = map[string]string{
	"reserved": "reserved lists names that no field may have: write it beside fields, or beside the payload of an event",
	"mixins":   "mixins lists structs whose fields a struct has too: write it beside fields, or beside the payload of an event",
}

// inlineStruct reads a struct that is written in place: the fields, and what o says of them beside.
func (r *Types) inlineStruct(o object, fields entry, goName catalog.Value[string], of owner) *catalog.Type {
	t := &catalog.Type{Name: goName, GoName: goName.V, Inline: true}
	if of.depth > maxNesting {
		r.report(r.place(fields.key), rules.BadType, "%s is nested in %d other structs", of.what, maxNesting).
			Hint = "declare a type for a part of it"
		return t
	}
	of.goName = t.GoName
	t.Reserved = r.names.reserved(o)
	r.structOf(o, fields.name, t, of)
	return t
}

// structOf reads the fields of t, which are under a key of o, and its mixins.
func (r *Types) structOf(o object, key string, t *catalog.Type, of owner) {
	if t.Inline {
		r.inlines = append(r.inlines, t)
	}
	if e, ok := o.entries[key]; ok {
		t.Fields = r.fields(e.value, of, t.Reserved)
	}
	r.mixins(o, t, of.what)
}

// defaultOf reads the default of a field.
func (r *Types) defaultOf(o object, f *catalog.Field) catalog.Value[json.RawMessage] {
	e, ok := o.entries["default"]
	if !ok {
		return catalog.Value[json.RawMessage]{}
	}
	bare := f.Type.Bare()
	if !f.Type.TakesDefault() {
		r.report(r.place(e.key), rules.Default, "%s cannot have a default, because its type is %s", o.what, f.Type.Text).
			See(r.typeAt(f.Type), "the type is here").
			Hint = "only scalars have defaults: strings, numbers, booleans, dates, durations, UUIDs and enums"
		return catalog.Value[json.RawMessage]{}
	}
	text, ok := JSON(r.Reader, e.value, "default of "+o.what, bare, true, rules.Default)
	if !ok {
		return catalog.Value[json.RawMessage]{}
	}
	for _, problem := range payload.CheckField(&catalog.Field{Type: bare, Constraints: f.Constraints}, text) {
		r.report(r.place(e.value), rules.Default, "default of %s: %s", o.what, problem.Message)
	}
	return catalog.Value[json.RawMessage]{V: text, Pos: r.position(e.value)}
}
