package catalog

import "slices"

// RemovedFacts lists what one catalogue has and the next one does not read any more, as facts about
// that, because it stays in stored events: names of fields, versions of events, numbers of enums and
// variants of unions. What was removed before stays removed, until something reads it again.
func RemovedFacts(before, after *Catalogue) []Fact {
	r := removal{seen: map[[2]*Type]bool{}}
	now := after.EventsByName()
	for _, old := range before.Events {
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

// version compares the fields of a version with those of the event that the name stands for now; nil
// for none.
func (r *removal) version(name string, e *Event, version int, was []*Field) {
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
	seen  map[[2]*Type]bool
}

// fields compares fields whose words are those of the later catalogue.
func (r *removal) fields(key []string, before, after []*Field) {
	reader := map[string]*Field{}
	for _, f := range after {
		reader[f.Name.V] = f
		for _, was := range f.Was {
			reader[was.V] = f
		}
	}
	for _, f := range before {
		for _, name := range append([]Value[string]{f.Name}, f.Was...) {
			if reader[name.V] == nil {
				r.facts = append(r.facts, removedFacts(key, name.V, f)...)
			}
		}
		if now := reader[f.Name.V]; now != nil {
			r.types(within(key, now.Name.V), f.Type, now.Type)
		}
	}
}

func (r *removal) types(key []string, before, after *TypeRef) {
	a, b := before.wire(), after.wire()
	switch {
	case a.Kind != b.Kind || a.Kind == Named && r.seen[[2]*Type{a.Named, b.Named}]:
	case a.Elem != nil:
		r.types(key, a.Elem, b.Elem)
	case a.Kind == Named:
		r.seen[[2]*Type{a.Named, b.Named}] = true
		r.named(key, a.Named, b.Named)
	}
}

func (r *removal) named(key []string, before, after *Type) {
	if before.IsStruct() && after.IsStruct() {
		r.fields(structKey(key, after), before.Fields, after.Fields)
	}
	if before.Integer && after.Integer {
		r.values(before, after)
	}
	for _, v := range slices.Concat(before.Variants, before.RemovedVariants) {
		if i := slices.IndexFunc(after.Variants, func(now *Variant) bool { return now.Name.V == v.Name.V }); i >= 0 {
			now := after.Variants[i]
			r.fields(structKey([]string{"union", after.Name.V, v.Name.V}, now.Type), v.Type.Fields, now.Type.Fields)
		} else if after.IsUnion() {
			r.facts = append(r.facts, removedVariant(after.Name.V, v)...)
		}
	}
}

// values compares enums of integers. Another value of the same number reads what is stored.
func (r *removal) values(before, after *Type) {
	for _, v := range slices.Concat(before.Values, before.RemovedValues) {
		if !slices.ContainsFunc(after.Values, func(now *EnumValue) bool { return now.Number == v.Number }) {
			r.facts = append(r.facts, removedValue(after.Name.V, v))
		}
	}
}

// removedVersion are about a version of an event that is gone.
func removedVersion(event string, version int, fields []*Field) []Fact {
	key := payloadKey(event, version)
	facts := []Fact{{Words: append([]string{factReserved}, key...)}}
	for _, f := range fields {
		facts = append(facts, removedFacts(key, f.Name.V, f)...)
	}
	return facts
}

func removedValue(enum string, v *EnumValue) Fact {
	return Fact{Words: []string{factReserved, "enum", enum, v.Name.V}, Value: factValue(v.Number)}
}

// removedVariant are about a variant as if it were a field of its struct.
func removedVariant(union string, v *Variant) []Fact {
	t := &TypeRef{Kind: Named, Named: v.Type, Text: v.Type.Name.V}
	if v.Type.Inline {
		t.Text = inPlace
	}
	return removedFacts([]string{"union", union}, v.Name.V, &Field{Name: v.Name, Type: t})
}

// structKey are the words in front of the fields of a struct, which is at key if it is in place.
func structKey(key []string, t *Type) []string {
	if t.Inline {
		return key
	}
	return []string{"struct", t.Name.V}
}

// removedFacts are about a field that is gone, and about what was gone before from the struct in place
// that it was. A value has all types that the field was made of, so that it says the same whatever
// becomes of them.
func removedFacts(key []string, name string, f *Field) []Fact {
	schema := fieldFact(f)
	schema.Was = nil // each of them is gone on its own
	addTypes(&schema, f.Type.named(), map[*Type]bool{})
	facts := []Fact{{Words: append([]string{factReserved}, within(key, name)...), Value: factValue(schema)}}
	if t := f.Type.named(); t != nil && t.Inline {
		for _, inner := range t.Fields {
			if inner.Removed {
				facts = append(facts, removedFacts(within(key, name), inner.Name.V, inner)...)
			}
		}
	}
	return facts
}

// addTypes adds a type and those that it is made of.
func addTypes(schema *fieldSchema, t *Type, seen map[*Type]bool) {
	if t == nil || seen[t] {
		return
	}
	seen[t] = true
	whole := t.withRemoved()
	for _, next := range whole.references() {
		addTypes(schema, next, seen)
	}
	if t.Inline {
		return
	}
	if schema.Types == nil {
		schema.Types = map[string]typeSchema{}
	}
	schema.Types[t.Name.V] = typeFact(whole)
}

// withRemoved is a declared type with the fields that were removed from it, and from its variants; a struct
// in place has facts about each of them.
func (t *Type) withRemoved() *Type {
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

// allFields are fields as if none of them was removed; one of each name.
func allFields(fields []*Field) (all []*Field) {
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
