package types

import (
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/files"
	"github.com/busgen/busgen/internal/catalog/parse/names"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// Types are the types of one catalogue.
type Types struct {
	*text.Reader
	names   *names.Names
	parts   *files.Parts
	imports *files.Imports

	ByName  map[string]*catalog.Type // and those with a broken body, too
	OK      bool                     // there was nothing wrong with the types
	Inlines []*catalog.Type          // the structs in place so far
	goTypes map[catalog.Kind]*catalog.GoType
	later   []func() // what has to wait until all types are known
	mixing  *mixing
}

// New returns a reader of the types of one catalogue.
func New(names *names.Names, parts *files.Parts, imports *files.Imports) *Types {
	mixing := &mixing{Reader: names.Reader, of: map[*catalog.Type]*mixer{}}
	return &Types{Reader: names.Reader, names: names, parts: parts, imports: imports,
		ByName: map[string]*catalog.Type{}, mixing: mixing}
}

// Read reads `types:` of all files. All names are known before the first body is
// read, so that types may refer to one another in any order.
func (r *Types) Read() []*catalog.Type {
	before := len(r.Findings)
	entries := r.parts.Sections("types", "type")
	var types []*catalog.Type
	for _, e := range entries {
		t := &catalog.Type{Name: catalog.Value[string]{V: e.Name, Pos: r.Position(e.Key)}, GoName: e.Name}
		types = append(types, t)
		r.ByName[e.Name] = t
		if !catalog.TypeName.MatchString(e.Name) {
			r.Report(r.Place(e.Key), rules.BadName, "type %s does not have a valid name", diag.Label(e.Name)).
				Hint = "begin with a capital and go on with letters and digits, as in OrderLine"
		}
	}
	for i, e := range entries {
		r.typeBody(e, types[i])
	}
	r.Resolve()
	for _, t := range types {
		if t.IsUnion() {
			r.checkVariants(t, "type "+diag.Label(t.Name.V))
		}
	}
	checkRecursion(r.Reader, slices.Concat(types, r.Inlines))
	r.OK = len(r.Findings) == before && !r.parts.Incomplete
	return types
}

// typeForms lists the keys that say what a type is. A type has exactly one of them.
var typeForms = []string{"fields", "enum", "one_of", "go"}

// typeKeys lists the keys that stand beside them.
var typeKeys = []string{"doc", "deprecated", "go_name", "schema", "json_names", "discriminator", "type", "reserved", "mixins"}

const typeFormsHint = "a type is a struct (fields), an enum (enum), a union (one_of), a custom Go type (go) or a named scalar (type)"

func (r *Types) typeBody(e text.Entry, t *catalog.Type) {
	if e.Value.Kind == yaml.ScalarNode && !text.IsNull(e.Value) {
		r.shortScalar(e, t)
		return
	}
	o, ok := r.Object(e.Value, "type "+diag.Label(e.Name), slices.Concat(typeKeys, typeForms, constraintKeys)...)
	if !ok {
		return
	}
	t.Doc, t.Deprecated = r.Doc(e.Key, o), r.Deprecated(o)
	t.GoName, t.Schema = r.names.OwnGoName(o, t.GoName), r.names.SchemaName(o)
	names := r.names.JSONNames(o, r.names.NamesIn(e.Key))
	form := r.typeForm(e, o)
	if form != "" && form != "type" {
		r.checkScalarKeys(o, form)
	}
	switch form {
	case "type":
		r.scalar(o.Entries[form].Value, o, t)
	case "fields":
		t.Reserved = r.names.Reserved(o)
		r.StructOf(o, form, t, Owner{What: o.What, GoName: t.GoName, JSONNames: names})
	case "enum":
		t.Values = r.enumValues(o.Entries[form].Value, t)
	case "one_of":
		r.union(o, t, names)
	case "go":
		r.custom(o, t)
	}
}

// typeForm returns the one key that says what a type is, or "" after a finding.
func (r *Types) typeForm(e text.Entry, o text.Object) string {
	form := ""
	for _, key := range typeForms {
		second, written := o.Entries[key]
		switch {
		case !written:
		case form == "":
			form = key
		default:
			r.Report(r.Place(second.Key), rules.Conflict, "%s has %s and %s", o.What, form, key).
				See(r.Place(o.Entries[form].Key), "%s is here", form).
				Hint = typeFormsHint + ": keep one of them"
			return ""
		}
	}
	if _, written := o.Entries["type"]; written && form == "" {
		form = "type"
	}
	if form == "" {
		r.Report(r.Place(e.Key), rules.MissingKey, "%s has none of the keys %s and type", o.What, strings.Join(typeForms, ", ")).Hint = typeFormsHint
	}
	for key, of := range map[string]string{"discriminator": "one_of", "type": "go", "reserved": "fields", "mixins": "fields"} {
		if extra, written := o.Entries[key]; written && form != "" && form != of && form != key {
			r.Report(r.Place(extra.Key), rules.Conflict, "%s has %s and %s", o.What, form, key).
				Hint = key + " belongs to a type with " + of
		}
	}
	if extra, written := o.Entries["json_names"]; written && (form == "enum" || form == "go" || form == "type") {
		r.Report(r.Place(extra.Key), rules.Conflict, "%s has %s and json_names", o.What, form).
			Hint = "json_names is for fields: it belongs to a type with fields or one_of"
	}
	return form
}

// HasMixins tells whether the mixins of payloads have brought all their fields.
func (r *Types) HasMixins() bool { return r.OK && !r.mixing.full }

// Resolve runs what had to wait until all types are known.
func (r *Types) Resolve() {
	for _, do := range r.later {
		do()
	}
	r.later = nil
	r.mixing.mixIn()
}

// scalar reads the type of a named scalar, and its constraints if it is written as a mapping.
func (r *Types) scalar(n *yaml.Node, o text.Object, t *catalog.Type) {
	t.Scalar = &catalog.TypeRef{Kind: catalog.String, Text: "string"} // even if there is a finding
	ref := r.TypeRef(n, o.What, nil)
	switch {
	case ref == nil:
		return
	case !ref.TakesDefault() || ref.Kind == catalog.Named || ref.MayBeNil():
		r.Report(r.Place(n), rules.BadType, "%s stands for %s, which is not a scalar", o.What, ref.Text).
			Hint = "a named scalar stands for one of string, bool, int, int32, int64, uint64, float64, decimal, date, duration and uuid; where it is used, it can be optional, or be in a list"
		return
	}
	t.Scalar = ref
	t.Constraints = constraints(r.Reader, o, ref)
}

// shortScalar reads a named scalar that is the text of a type: OrderID: uuid.
func (r *Types) shortScalar(e text.Entry, t *catalog.Type) {
	t.Doc = r.CommentAbove(e.Key)
	r.scalar(e.Value, text.Object{Node: e.Value, What: "type " + diag.Label(e.Name)}, t)
}

// checkScalarKeys reports constraints beside a type that is not a named scalar.
func (r *Types) checkScalarKeys(o text.Object, form string) {
	for _, key := range slices.Sorted(maps.Keys(o.Entries)) {
		if slices.Contains(constraintKeys, key) {
			r.Report(r.Place(o.Entries[key].Key), rules.Conflict, "%s has %s and %s", o.What, form, key).
				Hint = "constraints belong to a field, or to a named scalar: a type with type alone"
		}
	}
}

// KeyTypes is the hint for a key of another type.
const KeyTypes = "choose a field of type string, bool, int, int32, int64, uint64, uuid or an enum"

// CanBeKey tells whether equal values of a type have equal texts.
func CanBeKey(t *catalog.TypeRef) bool {
	switch t.Kind {
	case catalog.String, catalog.Bool, catalog.Int, catalog.Int32, catalog.Int64, catalog.Uint64, catalog.UUID:
		return true
	case catalog.Named:
		return t.Named.IsEnum()
	}
	return false
}

// Lack says why a field may have no value.
func Lack(t *catalog.TypeRef) string {
	if t.Nullable {
		return "can be null"
	}
	return "is optional"
}

// FieldNamed returns the field that a catalogue calls name, or nil and what it calls the fields that there are.
func FieldNamed(fields []*catalog.Field, name string) (*catalog.Field, []string) {
	var names []string
	for _, f := range fields {
		if f.Label() == name {
			return f, nil
		}
		names = append(names, f.Label())
	}
	return nil, names
}
