package record

import (
	"slices"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/payload/schema"
)

// RemovedFacts lists what one catalogue has and the next one does not read any more, as facts about
// that, because it stays in stored events: names of fields, versions of events, numbers of enums and
// variants of unions. A removed fact stays removed, until the catalogue reads it again.
func RemovedFacts(before, after *catalog.Catalogue) []Fact {
	r := removal{seen: map[[2]*catalog.Type]bool{}}
	now := after.EventsByName()
	for _, old := range before.Events {
		if e := now[old.Name.V]; e != nil {
			r.headers(e, slices.Concat(old.Headers, old.RemovedHeaders))
		}
		for version := 1; version <= old.Version.V; version++ {
			if was, wasRead := old.FieldsOf(version); wasRead {
				r.version(old.Name.V, now[old.Name.V], version, was)
			}
		}
	}
	for _, old := range before.Removed {
		for _, shape := range old.History {
			r.version(old.Name.V, now[old.Name.V], shape.Version.V, shape.Type.Fields)
		}
	}
	return r.facts
}

// headers compares those of an event with those that it had.
func (r *removal) headers(e *catalog.Event, before []*catalog.Header) {
	for _, h := range before {
		if !slices.ContainsFunc(e.Headers, func(now *catalog.Header) bool { return now.Name.V == h.Name.V }) {
			words := append([]string{factReserved}, headerKey(e.Name.V, h)...)
			r.facts = append(r.facts, Fact{Words: words, Value: factValue(headerForm(h))})
		}
	}
}

// version compares the fields of a version with those of the event that the name stands for now; nil
// for none.
func (r *removal) version(name string, e *catalog.Event, version int, was []*catalog.Field) {
	if e != nil {
		name = e.Name.V
		if is, isRead := e.FieldsOf(version); isRead {
			r.fields(payloadKey(name, version), was, is)
			return
		}
	}
	r.facts = append(r.facts, removedVersion(name, version, was)...)
}

type removal struct {
	facts []Fact
	seen  map[[2]*catalog.Type]bool
}

// fields compares fields whose words are those of the later catalogue.
func (r *removal) fields(key []string, before, after []*catalog.Field) {
	reader := map[string]*catalog.Field{}
	for _, f := range after {
		reader[f.Name.V] = f
		for _, was := range f.Was {
			reader[was.V] = f
		}
	}
	for _, f := range before {
		for _, name := range append([]catalog.Value[string]{f.Name}, f.Was...) {
			if reader[name.V] == nil {
				r.facts = append(r.facts, removedFacts(key, name.V, f)...)
			}
		}
		if now := reader[f.Name.V]; now != nil {
			r.types(within(key, now.Name.V), f.Type, now.Type)
		}
	}
}

func (r *removal) types(key []string, before, after *catalog.TypeRef) {
	a, b := before.JSONType(), after.JSONType()
	switch {
	case a.Kind != b.Kind || a.Kind == catalog.Named && r.seen[[2]*catalog.Type{a.Named, b.Named}]:
	case a.Elem != nil:
		r.types(key, a.Elem, b.Elem)
	case a.Kind == catalog.Named:
		r.seen[[2]*catalog.Type{a.Named, b.Named}] = true
		r.named(key, a.Named, b.Named)
	}
}

func (r *removal) named(key []string, before, after *catalog.Type) {
	if before.IsStruct() && after.IsStruct() {
		r.fields(structKey(key, after), before.Fields, after.Fields)
	}
	if before.Integer && after.Integer {
		r.values(before, after)
	}
	for _, v := range slices.Concat(before.Variants, before.RemovedVariants) {
		if i := slices.IndexFunc(after.Variants, func(now *catalog.Variant) bool { return now.Name.V == v.Name.V }); i >= 0 {
			now := after.Variants[i]
			r.fields(structKey([]string{"union", after.Name.V, v.Name.V}, now.Type), v.Type.Fields, now.Type.Fields)
		} else if after.IsUnion() {
			r.facts = append(r.facts, removedVariant(after.Name.V, v)...)
		}
	}
}

// values compares enums of integers. Another value of the same number reads what is stored.
func (r *removal) values(before, after *catalog.Type) {
	for _, v := range slices.Concat(before.Values, before.RemovedValues) {
		if !slices.ContainsFunc(after.Values, func(now *catalog.EnumValue) bool { return now.Number == v.Number }) {
			r.facts = append(r.facts, removedValue(after.Name.V, v))
		}
	}
}

// removedVersion returns the facts about a version of an event that was removed.
func removedVersion(event string, version int, fields []*catalog.Field) []Fact {
	key := payloadKey(event, version)
	facts := []Fact{{Words: append([]string{factReserved}, key...)}}
	for _, f := range fields {
		facts = append(facts, removedFacts(key, f.Name.V, f)...)
	}
	return facts
}

func removedValue(enum string, v *catalog.EnumValue) Fact {
	return Fact{Words: []string{factReserved, "enum", enum, v.Name.V}, Value: factValue(v.Number)}
}

// removedVariant returns the facts about a removed variant. They have the form of a field of its struct.
func removedVariant(union string, v *catalog.Variant) []Fact {
	t := &catalog.TypeRef{Kind: catalog.Named, Named: v.Type, Text: v.Type.Name.V}
	if v.Type.Inline {
		t.Text = catalog.InPlace
	}
	return removedFacts([]string{"union", union}, v.Name.V, &catalog.Field{Name: v.Name, Type: t})
}

// structKey returns the words in front of the fields of a struct: key, if it is in place.
func structKey(key []string, t *catalog.Type) []string {
	if t.Inline {
		return key
	}
	return []string{"struct", t.Name.V}
}

// removedFacts returns the facts about a removed field, and about fields that were removed before from its
// struct in place. The value has all types of the field, so that it stays true whatever becomes of them.
func removedFacts(key []string, name string, f *catalog.Field) []Fact {
	form := fieldFact(f)
	form.Was = nil // each of them is gone on its own
	addTypes(&form, f.Type.Declared(), map[*catalog.Type]bool{})
	facts := []Fact{{Words: append([]string{factReserved}, within(key, name)...), Value: factValue(form)}}
	if t := f.Type.Declared(); t != nil && t.Inline {
		for _, inner := range t.Fields {
			if inner.Removed {
				facts = append(facts, removedFacts(within(key, name), inner.Name.V, inner)...)
			}
		}
	}
	return facts
}

// addTypes adds a type and those that it is made of.
func addTypes(form *schema.Field, t *catalog.Type, seen map[*catalog.Type]bool) {
	if t == nil || seen[t] {
		return
	}
	seen[t] = true
	whole := withRemoved(t)
	for _, next := range whole.References() {
		addTypes(form, next, seen)
	}
	if t.Inline {
		return
	}
	if form.Types == nil {
		form.Types = map[string]schema.Type{}
	}
	form.Types[t.Name.V] = typeFact(whole)
}

// withRemoved returns a copy of a declared type that has the fields that were removed from it and from its
// variants. For a struct in place it returns t: each of its removed fields has a fact.
func withRemoved(t *catalog.Type) *catalog.Type {
	if t.Inline {
		return t
	}
	whole := *t
	whole.Fields, whole.Variants = allFields(t.Fields), nil
	for _, v := range t.Variants {
		one := *v
		if v.Type.Inline {
			inline := *v.Type
			one.Type, inline.Fields = &inline, allFields(v.Type.Fields)
		}
		whole.Variants = append(whole.Variants, &one)
	}
	return &whole
}

// allFields returns the fields as if none was removed, the present one of each name.
func allFields(fields []*catalog.Field) (all []*catalog.Field) {
	named := map[string]bool{}
	for _, removed := range []bool{false, true} {
		for _, f := range fields {
			if f.Removed == removed && !named[f.Name.V] {
				named[f.Name.V] = true
				one := *f
				one.Removed = false
				all = append(all, &one)
			}
		}
	}
	return all
}
