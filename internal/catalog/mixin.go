package catalog

import "slices"

// Mixin is the use of a struct by a payload or another struct, which has the fields of that struct in front of
// its own. In JSON and in Go nothing tells them from its own.
type Mixin struct {
	Name Value[string] // of the struct, as written; it is where the use is
	Type *Type         // the struct; that of another catalogue has a Package
}

// MixinNames lists the names of the structs, in order.
func MixinNames(mixins []*Mixin) []string {
	var names []string
	for _, m := range mixins {
		names = append(names, m.Name.V)
	}
	return names
}

// OwnFields returns the fields that are written here: those that no mixin brings.
func OwnFields(fields []*Field) []*Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f *Field) bool { return f.Mixin != nil })
}

// Through returns a copy of f for a payload or struct that has it through a mixin.
func (f *Field) Through(m *Mixin) *Field {
	one := *f
	one.Type, one.Mixin = f.Type.clone(), m
	return &one
}

// clone copies t, but not the declared types in it.
func (t *TypeRef) clone() *TypeRef {
	if t == nil {
		return nil
	}
	one := *t
	one.Elem = t.Elem.clone()
	return &one
}
