package breaking

import "github.com/busgen/busgen/internal/catalog"

// sameShape reports whether payloads have the same JSON. The names of types, the order of fields and their
// documentation do not matter.
func sameShape(a, b []*catalog.Field) bool { return sameFields(a, b, map[pair]bool{}) }

// sameFields assumes that a pair of types is the same if it is being compared already.
func sameFields(a, b []*catalog.Field, seen map[pair]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for _, f := range a {
		g := fieldNamed(b, f.Name.V)
		if g == nil || f.Type.Optional != g.Type.Optional || f.Type.Nullable != g.Type.Nullable || !sameType(f.Type, g.Type, seen) {
			return false
		}
	}
	return true
}

func sameType(a, b *catalog.TypeRef, seen map[pair]bool) bool {
	a, b = a.JSONType(), b.JSONType()
	switch {
	case a.Kind != b.Kind:
		return false
	case a.Elem != nil:
		return sameType(a.Elem, b.Elem, seen)
	case a.Kind != catalog.Named:
		return true
	}
	return sameNamed(a.Named, b.Named, seen)
}

func sameNamed(a, b *catalog.Type, seen map[pair]bool) bool {
	if seen[pair{a, b}] {
		return true
	}
	seen[pair{a, b}] = true
	if !sameSort(a, b) || len(a.Values) != len(b.Values) || len(a.Variants) != len(b.Variants) || a.Discriminator.V != b.Discriminator.V {
		return false
	}
	for _, v := range a.Values {
		if !holds(b, a, v) {
			return false
		}
	}
	for _, v := range a.Variants {
		if other := variantNamed(b, v.Name.V); other == nil || !sameNamed(v.Type, other.Type, seen) {
			return false
		}
	}
	return sameFields(a.Fields, b.Fields, seen)
}

// loses reports whether readers of the fields after the change miss something that writers of the fields
// before it write.
func loses(before, after []*catalog.Field, seen map[pair]bool) bool {
	seenBy := newFieldSet(after, nil)
	for _, f := range before {
		if f.Removed {
			continue
		}
		g := seenBy.reader(f.Name.V)
		if g == nil || losesIn(f.Type, g.Type, seen) {
			return true
		}
	}
	return false
}

func losesIn(a, b *catalog.TypeRef, seen map[pair]bool) bool {
	a, b = a.JSONType(), b.JSONType()
	switch {
	case a.Kind != b.Kind:
		return false // the types are known to fit
	case a.Elem != nil:
		return losesIn(a.Elem, b.Elem, seen)
	case a.Kind != catalog.Named || seen[pair{a.Named, b.Named}]:
		return false
	}
	seen[pair{a.Named, b.Named}] = true
	for _, v := range a.Named.Variants {
		if other := variantNamed(b.Named, v.Name.V); other != nil && loses(v.Type.Fields, other.Type.Fields, seen) {
			return true
		}
	}
	return a.Named.IsStruct() && b.Named.IsStruct() && loses(a.Named.Fields, b.Named.Fields, seen)
}
