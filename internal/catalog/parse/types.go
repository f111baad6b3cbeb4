package parse

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
)

// typeSection reads `types:` of all files. All names are known before the first body is
// read, so that types may refer to one another in any order.
func (r *reader) typeSection() []*catalog.Type {
	entries := r.sections("types", "type")
	var types []*catalog.Type
	for _, e := range entries {
		t := &catalog.Type{Name: catalog.Value[string]{V: e.name, Pos: r.position(e.key)}, GoName: e.name}
		types = append(types, t)
		r.types[e.name] = t
		if !catalog.TypeName.MatchString(e.name) {
			r.report(r.place(e.key), rules.BadName, "type %s does not have a valid name", label(e.name)).
				Hint = "begin with a capital and go on with letters and digits, as in OrderLine"
		}
	}
	for i, e := range entries {
		r.typeBody(e, types[i])
	}
	r.resolve()
	for _, t := range types {
		if t.IsUnion() {
			r.checkVariants(t, "type "+label(t.Name.V))
		}
	}
	r.checkRecursion(slices.Concat(types, r.inlines))
	return types
}

// typeForms lists the keys that say what a type is. A type has exactly one of them.
var typeForms = []string{"fields", "enum", "one_of", "go"}

const typeFormsHint = "a type is a struct (fields), an enum (enum), a union (one_of), a custom Go type (go) or a named scalar (type)"

func (r *reader) typeBody(e entry, t *catalog.Type) {
	if e.value.Kind == yaml.ScalarNode && !isNull(e.value) {
		r.shortScalar(e, t)
		return
	}
	o, ok := r.object(e.value, "type "+label(e.name), slices.Concat([]string{"doc", "deprecated", "go_name", "schema", "json_names", "discriminator", "type", "reserved", "mixins"}, typeForms, constraintKeys)...)
	if !ok {
		return
	}
	t.Doc, t.Deprecated, t.GoName, t.Schema = r.doc(e.key, o), r.deprecated(o), r.ownGoName(o, t.GoName), r.schemaName(o)
	names := r.jsonNames(o, r.namesIn(e.key))
	form := r.typeForm(e, o)
	if form != "" && form != "type" {
		r.checkScalarKeys(o, form)
	}
	switch form {
	case "type":
		r.scalar(o.entries[form].value, o, t)
	case "fields":
		t.Reserved = r.reserved(o)
		r.structOf(o, form, t, owner{what: o.what, goName: t.GoName, json: names})
	case "enum":
		t.Values = r.enumValues(o.entries[form].value, t)
	case "one_of":
		r.union(o, t, names)
	case "go":
		r.custom(o, t)
	}
}

// typeForm returns the one key that says what a type is, or "" after a finding.
func (r *reader) typeForm(e entry, o object) string {
	form := ""
	for _, key := range typeForms {
		second, written := o.entries[key]
		switch {
		case !written:
		case form == "":
			form = key
		default:
			r.report(r.place(second.key), rules.Conflict, "%s has %s and %s", o.what, form, key).
				See(r.place(o.entries[form].key), "%s is here", form).
				Hint = typeFormsHint + ": keep one of them"
			return ""
		}
	}
	if _, written := o.entries["type"]; written && form == "" {
		form = "type"
	}
	if form == "" {
		r.report(r.place(e.key), rules.MissingKey, "%s has none of the keys %s and type", o.what, strings.Join(typeForms, ", ")).Hint = typeFormsHint
	}
	for key, of := range map[string]string{"discriminator": "one_of", "type": "go", "reserved": "fields", "mixins": "fields"} {
		if extra, written := o.entries[key]; written && form != "" && form != of && form != key {
			r.report(r.place(extra.key), rules.Conflict, "%s has %s and %s", o.what, form, key).
				Hint = key + " belongs to a type with " + of
		}
	}
	if extra, written := o.entries["json_names"]; written && (form == "enum" || form == "go" || form == "type") {
		r.report(r.place(extra.key), rules.Conflict, "%s has %s and json_names", o.what, form).
			Hint = "json_names is for fields: it belongs to a type with fields or one_of"
	}
	return form
}

// resolve runs what had to wait until all types are known.
func (r *reader) resolve() {
	for _, do := range r.later {
		do()
	}
	r.later = nil
	r.mixing.mixIn()
}
