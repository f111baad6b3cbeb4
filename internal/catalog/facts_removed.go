package catalog

// RemovedFacts lists the names of fields that one catalogue has and the next one does not read any
// more, as facts about that: their keys stay in stored events. What was removed before stays removed,
// until a field reads it again.
func RemovedFacts(before, after *Catalogue) []Fact {
	r := removal{seen: map[[2]*Type]bool{}}
	now := after.EventsByName()
	for _, old := range before.Events {
		e := now[old.Name.V]
		if e == nil {
			continue
		}
		for version := 1; version <= min(old.Version.V, e.Version.V); version++ {
			was, wasRead := old.FieldsOf(version)
			is, isRead := e.FieldsOf(version)
			if wasRead && isRead {
				r.fields(payloadKey(e.Name.V, version), was, is)
			}
		}
	}
	return r.facts
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
	for _, v := range before.Variants {
		for _, now := range after.Variants {
			if now.Name.V == v.Name.V {
				r.fields(structKey([]string{"union", after.Name.V, v.Name.V}, now.Type), v.Type.Fields, now.Type.Fields)
			}
		}
	}
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
	for _, t := range reachable([]*Field{{Type: f.Type}}) {
		if !t.Inline {
			if schema.Types == nil {
				schema.Types = map[string]typeSchema{}
			}
			schema.Types[t.Name.V] = typeFact(t)
		}
	}
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
