package types

import (
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// defaultDiscriminator is the discriminator of a union that names none.
const defaultDiscriminator = "type"

// union reads `one_of:` and `discriminator:`.
func (r *Types) union(o text.Object, t *catalog.Type, names catalog.JSONNames) {
	t.Discriminator = catalog.Value[string]{V: defaultDiscriminator}
	if e, ok := o.Entries["discriminator"]; ok {
		name, ok := r.Text(e.Value, "discriminator of "+o.What)
		if ok {
			r.names.CheckJSONName(e.Value, name.V, "discriminator %s of "+o.What)
		}
		t.Discriminator = name
	}
	e := o.Entries["one_of"]
	entries, ok := r.Mapping(e.Value, "one_of of "+o.What)
	if ok && len(e.Value.Content) == 0 {
		r.Report(r.Place(e.Value), rules.Union, "one_of of %s has no variants", o.What).Hint = "add at least one"
	}
	t.Variants = []*catalog.Variant{} // a union, even if all of them are refused
	for _, e := range entries {
		if !catalog.VariantName.MatchString(e.Name) {
			r.Report(r.Place(e.Key), rules.BadName, "variant %s of %s does not have a valid name", diag.Label(e.Name), o.What).
				Hint = "use letters and digits, with single -, _ or . between them"
			continue
		}
		v := &catalog.Variant{Name: catalog.Value[string]{V: e.Name, Pos: r.Position(e.Key)}}
		if v.Type = r.variantType(e, t, names, "variant "+e.Name+" of "+o.What); v.Type != nil {
			t.Variants = append(t.Variants, v)
		}
	}
}

// variantType reads the name of a struct, or a struct in place.
func (r *Types) variantType(e text.Entry, union *catalog.Type, names catalog.JSONNames, what string) *catalog.Type {
	if e.Value.Kind == yaml.MappingNode {
		o, _ := r.Object(e.Value, what, "mixins", "fields", "reserved", "doc", "deprecated", "go_name")
		name := r.names.OwnGoName(o, r.names.GoName(e.Name))
		fields, ok := r.Required(o, "fields", "write them, or {} if it has none")
		if !ok {
			return nil
		}
		goName := catalog.Value[string]{V: union.GoName + name, Pos: r.Position(e.Key)}
		t := r.inlineStruct(o, fields, goName, Owner{What: what, depth: 1, JSONNames: names})
		t.Doc, t.Deprecated = r.Doc(e.Key, o), r.Deprecated(o)
		return t
	}
	ref := r.TypeRef(e.Value, what, nil)
	switch {
	case ref == nil:
		return nil
	case ref.Kind != catalog.Named || ref.MayBeNil():
		r.Report(r.Place(e.Value), rules.Union, "%s is %s, which is not a struct", what, ref.Text).
			Hint = "name a type with fields, or write fields here"
		return nil
	case ref.Named.Package != nil:
		r.Report(r.Place(e.Value), rules.Union, "%s is %s, which is declared in another catalogue", what, ref.Text).
			Hint = "a variant must be a struct of the same Go package: write fields here, one of them with that type"
		return nil
	}
	return ref.Named
}

// checkVariants checks variants after all types have been read.
func (r *Types) checkVariants(t *catalog.Type, what string) {
	first := map[*catalog.Type]*catalog.Variant{}
	for _, v := range t.Variants {
		at := r.NameAt(v.Name)
		switch other := first[v.Type]; {
		case !v.Type.IsStruct():
			r.Report(at, rules.Union, "variant %s of %s is %s, which is not a struct", v.Name.V, what, v.Type.Name.V).
				Hint = "name a type with fields, or write fields here"
		case other != nil:
			r.Report(at, rules.Union, "variants %s and %s of %s are both %s", other.Name.V, v.Name.V, what, v.Type.Name.V).
				See(r.NameAt(other.Name), "variant %s is here", other.Name.V).
				Hint = "each variant needs a struct of its own: declare another one"
		}
		first[v.Type] = v
		for _, f := range v.Type.Fields {
			if catalog.SameJSONName(f.Name.V, t.Discriminator.V) {
				r.Report(at, rules.Union, "variant %s of %s has a field %s, which is the name of the discriminator", v.Name.V, what, f.Name.V).
					See(r.NameAt(f.Local), "the field is here").
					Hint = "rename the field, or choose another key with discriminator"
			}
			for _, was := range f.Was {
				if catalog.SameJSONName(was.V, t.Discriminator.V) {
					r.Report(at, rules.Union, "variant %s of %s has a field %s with the former name %s, which is the name of the discriminator", v.Name.V, what, f.Name.V, was.V).
						See(r.NameAt(was), "the former name is here").
						Hint = "remove the former name, or choose another key with discriminator"
				}
			}
		}
	}
}
