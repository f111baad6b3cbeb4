package parse

import (
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// Types are the types of one catalogue.
type Types struct {
	*Reader
	names   *Names
	parts   *Parts
	imports *Imports

	byName  map[string]*catalog.Type // and those with a broken body, too
	ok      bool                     // there was nothing wrong with the types
	inlines []*catalog.Type          // the structs in place so far
	goTypes map[catalog.Kind]*catalog.GoType
	later   []func() // what has to wait until all types are known
	mixing  *mixing
}

func newTypes(names *Names, parts *Parts, imports *Imports) *Types {
	mixing := &mixing{Reader: names.Reader, of: map[*catalog.Type]*mixer{}}
	return &Types{Reader: names.Reader, names: names, parts: parts, imports: imports, byName: map[string]*catalog.Type{}, mixing: mixing}
}

// section reads `types:` of all files. All names are known before the first body is
// read, so that types may refer to one another in any order.
func (r *Types) section() []*catalog.Type {
	before := len(r.findings)
	entries := r.parts.sections("types", "type")
	var types []*catalog.Type
	for _, e := range entries {
		t := &catalog.Type{Name: catalog.Value[string]{V: e.name, Pos: r.position(e.key)}, GoName: e.name}
		types = append(types, t)
		r.byName[e.name] = t
		if !catalog.TypeName.MatchString(e.name) {
			r.report(r.place(e.key), rules.BadName, "type %s does not have a valid name", diag.Label(e.name)).
				Hint = "begin with a capital and go on with letters and digits, as in OrderLine"
		}
	}
	for i, e := range entries {
		r.typeBody(e, types[i])
	}
	r.resolve()
	for _, t := range types {
		if t.IsUnion() {
			r.checkVariants(t, "type "+diag.Label(t.Name.V))
		}
	}
	checkRecursion(r.Reader, slices.Concat(types, r.inlines))
	r.ok = len(r.findings) == before && !r.parts.incomplete
	return types
}

// typeForms lists the keys that say what a type is. A type has exactly one of them.
var typeForms = []string{"fields", "enum", "one_of", "go"}

const typeFormsHint = "a type is a struct (fields), an enum (enum), a union (one_of), a custom Go type (go) or a named scalar (type)"

func (r *Types) typeBody(e entry, t *catalog.Type) {
	if e.value.Kind == yaml.ScalarNode && !isNull(e.value) {
		r.shortScalar(e, t)
		return
	}
	o, ok := r.object(e.value, "type "+diag.Label(e.name), slices.Concat([]string{"doc", "deprecated", "go_name", "schema", "json_names", "discriminator", "type", "reserved", "mixins"}, typeForms, constraintKeys)...)
	if !ok {
		return
	}
	t.Doc, t.Deprecated, t.GoName, t.Schema = r.doc(e.key, o), r.deprecated(o), r.names.ownGoName(o, t.GoName), r.names.schemaName(o)
	names := r.names.jsonNames(o, r.names.namesIn(e.key))
	form := r.typeForm(e, o)
	if form != "" && form != "type" {
		r.checkScalarKeys(o, form)
	}
	switch form {
	case "type":
		r.scalar(o.entries[form].value, o, t)
	case "fields":
		t.Reserved = r.names.reserved(o)
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
func (r *Types) typeForm(e entry, o object) string {
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

// hasMixins tells whether the mixins of payloads have brought all their fields.
func (r *Types) hasMixins() bool { return r.ok && !r.mixing.full }

// resolve runs what had to wait until all types are known.
func (r *Types) resolve() {
	for _, do := range r.later {
		do()
	}
	r.later = nil
	r.mixing.mixIn()
}

// scalar reads the type of a named scalar, and its constraints if it is written as a mapping.
func (r *Types) scalar(n *yaml.Node, o object, t *catalog.Type) {
	t.Scalar = &catalog.TypeRef{Kind: catalog.String, Text: "string"} // even if there is a finding
	ref := r.typeRef(n, o.what, nil)
	switch {
	case ref == nil:
		return
	case !ref.TakesDefault() || ref.Kind == catalog.Named || ref.MayBeNil():
		r.report(r.place(n), rules.BadType, "%s stands for %s, which is not a scalar", o.what, ref.Text).
			Hint = "a named scalar stands for one of string, bool, int, int32, int64, uint64, float64, decimal, date, duration and uuid; where it is used, it can be optional, or be in a list"
		return
	}
	t.Scalar = ref
	t.Constraints = constraints(r.Reader, o, ref)
}

// shortScalar reads a named scalar that is the text of a type: OrderID: uuid.
func (r *Types) shortScalar(e entry, t *catalog.Type) {
	t.Doc = r.commentAbove(e.key)
	r.scalar(e.value, object{node: e.value, what: "type " + diag.Label(e.name), entries: map[string]entry{}}, t)
}

// checkScalarKeys reports constraints beside a type that is not a named scalar.
func (r *Types) checkScalarKeys(o object, form string) {
	for _, key := range slices.Sorted(maps.Keys(o.entries)) {
		if slices.Contains(constraintKeys, key) {
			r.report(r.place(o.entries[key].key), rules.Conflict, "%s has %s and %s", o.what, form, key).
				Hint = "constraints belong to a field, or to a named scalar: a type with type alone"
		}
	}
}
