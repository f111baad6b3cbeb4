package export

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
)

// The keys of a property for what JSON Schema has no word for.
const (
	SensitiveKey = "x-sensitive"
	PersonalKey  = "x-personal"
)

// A dialect is a flavour of JSON Schema.
type dialect struct {
	refs       string // where types are
	besideRefs bool   // whether $ref may have keys beside it
	names      map[*catalog.Type]string
}

// naming returns the dialect with names for types: those of their schemas, or their own, and those of other catalogues
// with the name of the import in front, as in SharedMoney. The name is one that an import can keep. That of a schema counts
// unless something else has it.
func (d dialect) naming(events []*catalog.Event, types []*catalog.Type) dialect {
	d.names = map[*catalog.Type]string{}
	taken := map[string]bool{}
	ofEvents := map[string]bool{}
	for _, e := range events {
		taken[e.Name.V], taken[e.GoName], taken[e.GoName+"Type"] = true, true, true
		ofEvents[e.Name.V] = true
	}
	for _, t := range types {
		taken[t.Name.V] = true
	}
	schemas := map[string]bool{} // what types are called
	for _, t := range types {
		if !t.Schema.Written() {
			schemas[t.Name.V] = true
		}
	}
	for _, t := range types {
		if name := t.Schema.V; t.Schema.Written() && !schemas[name] && !ofEvents[name] {
			schemas[name], taken[name] = true, true
			d.names[t] = name
			continue
		}
		own := ""
		for part := range strings.SplitSeq(t.Name.V, ".") {
			own += strings.ToUpper(part[:1]) + part[1:]
		}
		if own == t.Name.V && !ofEvents[own] {
			continue
		}
		free := own
		for n := 2; taken[free]; n++ {
			free = own + strconv.Itoa(n)
		}
		taken[free] = true
		d.names[t] = free
	}
	return d
}

// name is what a type is called in a schema.
func (d dialect) name(t *catalog.Type) string {
	if name := d.names[t]; name != "" {
		return name
	}
	return t.Name.V
}

// payload is the schema of an event's payload.
func (d dialect) payload(e *catalog.Event) object {
	s := object{}
	s.set("title", e.GoName)
	describe(&s, e.Doc, e.Deprecated)
	if e.Name.V != e.Label() && d.besideRefs {
		s.set("x-busgen", object{{"event", e.Label()}})
	}
	d.fields(&s, e.Fields)
	if len(e.Examples) > 0 {
		var examples []json.RawMessage
		for _, example := range e.Examples {
			examples = append(examples, example.JSON)
		}
		s.set("examples", examples)
	}
	return s
}

// named is the schema of a declared type. The Go type of a custom one is named in the
// way of oapi-codegen.
func (d dialect) named(t *catalog.Type) object {
	s := object{}
	switch {
	case t.IsCustom():
		s = d.typeOf(t.Custom.JSON, catalog.Constraints{})
		s.set("title", t.Custom.Import.V+"."+t.Custom.Name.V)
		s.set("x-go-type", path.Base(t.Custom.Import.V)+"."+t.Custom.Name.V)
		s.set("x-go-type-import", object{{"path", t.Custom.Import.V}})
	case t.IsUnion():
		d.union(&s, t)
	case t.IsEnum():
		enum(&s, t)
	case t.IsScalar():
		s = d.typeOf(t.Scalar, t.Constraints)
	default:
		d.fields(&s, t.Fields)
	}
	describe(&s, t.Doc, t.Deprecated)
	return s
}

func describe(s *object, doc string, deprecated catalog.Value[string]) {
	if deprecated.Written() {
		doc = strings.TrimSpace(doc + "\n\nDeprecated: " + deprecated.V)
		s.set("deprecated", true)
	}
	s.text("description", doc)
}

// fields describes an object with these fields, and possibly others.
func (d dialect) fields(s *object, fields []*catalog.Field) {
	s.set("type", "object")
	properties, required := object{}, []string{}
	for _, f := range fields {
		properties.add(f.Name.V, d.field(f))
		if !f.Type.Optional {
			required = append(required, f.Name.V)
		}
	}
	s.set("properties", properties) // without them anything can be in there
	if len(required) > 0 {
		s.set("required", required)
	}
}

func (d dialect) field(f *catalog.Field) object {
	s := d.typeOf(f.Type, f.Constraints)
	if s.get("$ref") != nil && !d.besideRefs && (f.Doc != "" || f.Deprecated.Written() || f.Default.Written() || f.Sensitive.V || f.Personal.V) {
		s = object{{"allOf", []object{s}}}
	}
	describe(&s, f.Doc, f.Deprecated)
	if f.Sensitive.V {
		s.set(SensitiveKey, true)
	}
	if f.Personal.V {
		s.set(PersonalKey, true)
	}
	if f.Default.Written() {
		s.set("default", f.Default.V)
	}
	return s
}

// enum lists the values, each with what is said about it.
func enum(s *object, t *catalog.Type) {
	kind := "string"
	if t.Integer {
		kind = "integer"
	}
	s.set("type", kind)
	plain := !t.Integer && !slices.ContainsFunc(t.Values, func(v *catalog.EnumValue) bool { return v.Doc != "" || v.Deprecated.Written() })
	if plain {
		var values []string
		for _, v := range t.Values {
			values = append(values, v.Name.V)
		}
		s.set("enum", values)
		return
	}
	var values []object
	for _, v := range t.Values {
		one := object{}
		if t.Integer {
			one.set("const", v.Number)
			one.set("title", v.Name.V)
		} else {
			one.set("const", v.Name.V)
		}
		describe(&one, v.Doc, v.Deprecated)
		values = append(values, one)
	}
	s.set("oneOf", values)
}

// union says that the discriminator chooses one of the structs.
func (d dialect) union(s *object, t *catalog.Type) {
	key := t.Discriminator.V
	var names []string
	var variants []object
	for _, v := range t.Variants {
		names = append(names, v.Name.V)
		variants = append(variants, object{
			{"title", v.Name.V},
			{"allOf", []object{
				{{"$ref", d.refs + d.name(v.Type)}},
				{{"properties", object{{key, object{{"const", v.Name.V}}}}}},
			}},
		})
	}
	s.set("type", "object")
	s.set("properties", object{{key, object{{"type", "string"}, {"enum", names}}}})
	s.set("required", []string{key})
	s.set("oneOf", variants)
}
