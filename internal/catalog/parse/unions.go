package parse

import (
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// defaultDiscriminator is the discriminator of a union that names none.
const defaultDiscriminator = "type"

// union reads `one_of:` and `discriminator:`.
func (r *Types) union(o object, t *catalog.Type, names catalog.JSONNames) {
	t.Discriminator = catalog.Value[string]{V: defaultDiscriminator}
	if e, ok := o.entries["discriminator"]; ok {
		name, ok := r.text(e.value, "discriminator of "+o.what)
		if ok {
			r.names.checkJSONName(e.value, name.V, "discriminator %s of "+o.what)
		}
		t.Discriminator = name
	}
	e := o.entries["one_of"]
	entries, ok := r.mapping(e.value, "one_of of "+o.what)
	if ok && len(e.value.Content) == 0 {
		r.report(r.place(e.value), rules.Union, "one_of of %s has no variants", o.what).Hint = "add at least one"
	}
	t.Variants = []*catalog.Variant{} // a union, even if all of them are refused
	for _, e := range entries {
		if !catalog.VariantName.MatchString(e.name) {
			r.report(r.place(e.key), rules.BadName, "variant %s of %s does not have a valid name", diag.Label(e.name), o.what).
				Hint = "use letters and digits, with single -, _ or . between them"
			continue
		}
		v := &catalog.Variant{Name: catalog.Value[string]{V: e.name, Pos: r.position(e.key)}}
		if v.Type = r.variantType(e, t, names, "variant "+e.name+" of "+o.what); v.Type != nil {
			t.Variants = append(t.Variants, v)
		}
	}
}

// variantType reads the name of a struct, or a struct in place.
func (r *Types) variantType(e entry, union *catalog.Type, names catalog.JSONNames, what string) *catalog.Type {
	if e.value.Kind == yaml.MappingNode {
		o, _ := r.object(e.value, what, "mixins", "fields", "reserved", "doc", "deprecated", "go_name")
		name := r.names.ownGoName(o, r.names.goName(e.name))
		fields, ok := r.required(o, "fields", "write them, or {} if it has none")
		if !ok {
			return nil
		}
		t := r.inlineStruct(o, fields, catalog.Value[string]{V: union.GoName + name, Pos: r.position(e.key)}, owner{what: what, depth: 1, json: names})
		t.Doc, t.Deprecated = r.doc(e.key, o), r.deprecated(o)
		return t
	}
	ref := r.typeRef(e.value, what, nil)
	switch {
	case ref == nil:
		return nil
	case ref.Kind != catalog.Named || ref.MayBeNil():
		r.report(r.place(e.value), rules.Union, "%s is %s, which is not a struct", what, ref.Text).
			Hint = "name a type with fields, or write fields here"
		return nil
	case ref.Named.Package != nil:
		r.report(r.place(e.value), rules.Union, "%s is %s, which is declared in another catalogue", what, ref.Text).
			Hint = "a variant must be a struct of the same Go package: write fields here, one of them with that type"
		return nil
	}
	return ref.Named
}

// checkVariants checks variants after all types have been read.
func (r *Types) checkVariants(t *catalog.Type, what string) {
	first := map[*catalog.Type]*catalog.Variant{}
	for _, v := range t.Variants {
		at := r.nameAt(v.Name)
		switch other := first[v.Type]; {
		case !v.Type.IsStruct():
			r.report(at, rules.Union, "variant %s of %s is %s, which is not a struct", v.Name.V, what, v.Type.Name.V).
				Hint = "name a type with fields, or write fields here"
		case other != nil:
			r.report(at, rules.Union, "variants %s and %s of %s are both %s", other.Name.V, v.Name.V, what, v.Type.Name.V).
				See(r.nameAt(other.Name), "variant %s is here", other.Name.V).
				Hint = "each variant needs a struct of its own: declare another one"
		}
		first[v.Type] = v
		for _, f := range v.Type.Fields {
			if catalog.SameJSONName(f.Name.V, t.Discriminator.V) {
				r.report(at, rules.Union, "variant %s of %s has a field %s, which is the name of the discriminator", v.Name.V, what, f.Name.V).
					See(r.nameAt(f.Local), "the field is here").
					Hint = "rename the field, or choose another key with discriminator"
			}
			for _, was := range f.Was {
				if catalog.SameJSONName(was.V, t.Discriminator.V) {
					r.report(at, rules.Union, "variant %s of %s has a field %s with the former name %s, which is the name of the discriminator", v.Name.V, what, f.Name.V, was.V).
						See(r.nameAt(was), "the former name is here").
						Hint = "remove the former name, or choose another key with discriminator"
				}
			}
		}
	}
}
