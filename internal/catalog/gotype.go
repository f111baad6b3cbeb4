package catalog

import "slices"

// GoType is an entry of `go_types:`: the Go type that fields of a built-in type have instead of the usual one. A
// [TypeRef] of that built-in type keeps its Kind. So only what is about Go need know of it, as with named scalars.
type GoType struct {
	Of     Value[string] // the built-in type, as written: decimal
	Import Value[string] // the path of its package
	Name   Value[string] // in that package
}

// RetypedKinds lists the built-in types that can have another Go type. Their JSON is a text, and their usual Go
// types are structs, arrays or defined types: what Go predeclares has named scalars.
var RetypedKinds = []Kind{Date, Decimal, Duration, Time, UUID}

// MayBeRetyped reports whether a built-in type can have another Go type.
func MayBeRetyped(kind Kind) bool { return slices.Contains(RetypedKinds, kind) }

// GoTypesUsed lists the Go types of `go_types:` that the code of the catalogue's package refers to, in the order in
// which they are declared. Those of imported catalogues come last.
func (c *Catalogue) GoTypesUsed() []*GoType {
	used := map[*GoType]bool{}
	var others []*GoType
	note := func(t *TypeRef) {
		for t.Elem != nil {
			t = t.Elem
		}
		if t.Go == nil || used[t.Go] {
			return
		}
		used[t.Go] = true
		if !slices.Contains(c.GoTypes, t.Go) {
			others = append(others, t.Go)
		}
	}
	for _, e := range c.Events {
		for _, f := range e.Values() {
			note(f.Type)
		}
	}
	for _, t := range c.Types {
		if t.IsScalar() {
			note(t.Scalar)
		}
		for _, f := range t.Fields {
			note(f.Type)
		}
	}
	own := slices.DeleteFunc(slices.Clone(c.GoTypes), func(g *GoType) bool { return !used[g] })
	return append(own, others...)
}
