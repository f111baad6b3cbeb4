package catalog

import "slices"

// Needs returns the declared type of which every value of f contains one, or nil. Optional and nullable fields may
// have no value; lists and maps may be empty, unless they must have items.
func (f *Field) Needs() *Type {
	t, c := f.Type, f.Constraints
	if t.MayBeNil() {
		return nil
	}
	for t.IsCollection() {
		if c.MinItems.V == 0 {
			return nil
		}
		t, c = t.Elem, c.OfEach()
	}
	return t.Named
}

// Ranks returns the types that have values at all, numbered from 1 in such an order that a type comes after
// the types that its values need. A struct has values if all types that it needs have; a union, if one of its
// variants has.
func Ranks(types []*Type) map[*Type]int {
	missing, dependents := map[*Type]int{}, map[*Type][]*Type{}
	among := map[*Type]bool{} // the others are of other catalogues, and were checked
	for _, t := range types {
		among[t] = true
	}
	var ready []*Type
	for _, t := range types {
		for _, next := range t.needs() {
			if !among[next] {
				continue
			}
			missing[t]++
			dependents[next] = append(dependents[next], t)
		}
		if t.IsUnion() {
			missing[t] = 1
		}
		if missing[t] == 0 {
			ready = append(ready, t)
		}
	}
	rank := map[*Type]int{}
	for len(ready) > 0 {
		t := ready[0]
		ready = ready[1:]
		rank[t] = len(rank) + 1
		for _, dependent := range dependents[t] {
			if missing[dependent]--; missing[dependent] == 0 {
				ready = append(ready, dependent)
			}
		}
	}
	return rank
}

// needs lists the types of which a value of t has one, or of which it is one.
func (t *Type) needs() []*Type {
	var all []*Type
	for _, f := range t.Fields {
		if next := f.Needs(); next != nil {
			all = append(all, next)
		}
	}
	for _, v := range t.Variants {
		all = append(all, v.Type)
	}
	return all
}

// Mark sets Recursive and Reflected of types, which say what holds for a value and everything inside of it. A
// type on a cycle of references is recursive. Mark uses Tarjan's algorithm, which finds such cycles (strongly
// connected components) after everything that they lead to.
func Mark(types []*Type) {
	m := &marker{order: map[*Type]int{}, low: map[*Type]int{}, open: map[*Type]bool{}}
	for _, t := range types {
		if m.order[t] == 0 {
			m.visit(t)
		}
	}
}

type marker struct {
	order, low map[*Type]int // when a type was met, and the earliest that it leads to
	stack      []*Type
	open       map[*Type]bool // on the stack
}

func (m *marker) visit(t *Type) {
	m.order[t] = len(m.order) + 1
	m.low[t] = m.order[t]
	m.stack = append(m.stack, t)
	m.open[t] = true
	for _, next := range t.References() {
		if m.order[next] == 0 {
			m.visit(next)
			m.low[t] = min(m.low[t], m.low[next])
		} else if m.open[next] {
			m.low[t] = min(m.low[t], m.order[next])
		}
	}
	if m.low[t] == m.order[t] {
		i := slices.Index(m.stack, t)
		m.mark(m.stack[i:])
		m.stack = m.stack[:i]
	}
}

// mark marks the types of one component. The types that it leads to are marked already.
func (m *marker) mark(component []*Type) {
	reflected := false
	for _, t := range component {
		t.Recursive = len(component) > 1 || slices.Contains(t.References(), t)
		reflected = reflected || t.IsCustom() || t.IsUnion()
		for _, next := range t.References() {
			reflected = reflected || next.Reflected
		}
		m.open[t] = false
	}
	for _, t := range component {
		t.Reflected = reflected
	}
}

// Reflected reports whether a value of type t is.
func (t *TypeRef) Reflected() bool {
	named := t.Declared()
	return named != nil && named.Reflected
}

// References lists the declared types that t consists of.
func (t *Type) References() []*Type {
	var all []*Type
	for _, f := range t.Fields {
		if named := f.Type.Declared(); named != nil && !f.Removed {
			all = append(all, named)
		}
	}
	for _, v := range t.Variants {
		all = append(all, v.Type)
	}
	return all
}

// Reachable lists the declared types that fields consist of.
func Reachable(fields []*Field) []*Type {
	var all []*Type
	seen := map[*Type]bool{}
	var visit func(t *Type)
	visit = func(t *Type) {
		if !seen[t] {
			seen[t] = true
			all = append(all, t)
			for _, next := range t.References() {
				visit(next)
			}
		}
	}
	for _, next := range (&Type{Fields: fields}).References() {
		visit(next)
	}
	return all
}
