package catalog

import (
	"slices"
	"strings"
)

// An edge leads from a type to one of which its values must have or may have
// a value.
type edge struct {
	to   *Type
	at   Place
	hint string
}

// needs returns the declared type of which f must have a value, or nil. Lists and
// maps may be empty, unless they must have items, and optional fields absent.
func (f *Field) needs() *Type {
	t := f.Type
	switch {
	case t.Optional:
		return nil
	case t.isCollection() && f.Constraints.MinItems.V > 0 && !t.Elem.isCollection():
		return t.Elem.Named
	}
	return t.Named
}

// finite finds the types that have values at all, and numbers them in such an
// order that what a value needs comes before it. A struct has one if all that it
// needs has; a union, if one of its variants has.
func finite(types []*Type) map[*Type]int {
	rank := map[*Type]int{}
	isFinite := func(t *Type) bool {
		for _, f := range t.Fields {
			if next := f.needs(); next != nil && rank[next] == 0 {
				return false
			}
		}
		return !t.IsUnion() || slices.ContainsFunc(t.Variants, func(v *Variant) bool { return rank[v.Type] > 0 })
	}
	for grew := true; grew; {
		grew = false
		for _, t := range types {
			if rank[t] == 0 && isFinite(t) {
				rank[t], grew = len(rank)+1, true
			}
		}
	}
	return rank
}

// checkRecursion reports types that contain themselves so that no value could ever be
// complete.
func (r *reader) checkRecursion(types []*Type) {
	ranks, done := finite(types), map[*Type]bool{}
	for t := range ranks {
		done[t] = true
	}
	var path []*Type
	var visit func(t *Type)
	visit = func(t *Type) {
		path = append(path, t)
		for _, e := range r.needed(t) {
			if done[e.to] {
				continue
			}
			if i := slices.Index(path, e.to); i >= 0 {
				r.recursive(e, path[i:])
				continue
			}
			visit(e.to)
		}
		path = path[:len(path)-1]
		done[t] = true
	}
	for _, t := range types {
		if !done[t] {
			visit(t)
		}
	}
}

// needed lists what a value of t must have.
func (r *reader) needed(t *Type) []edge {
	var edges []edge
	for _, f := range t.Fields {
		if next := f.needs(); next != nil {
			hint := "make a field on the way optional (" + f.Type.Text + "?) or a list"
			if f.Type.isCollection() {
				hint = "let a list on the way be empty, without min_items"
			}
			edges = append(edges, edge{next, r.typeAt(f.Type), hint})
		}
	}
	for _, v := range t.Variants {
		edges = append(edges, edge{v.Type, r.nameAt(v.Name), "add a variant that ends it"})
	}
	return edges
}

func (r *reader) recursive(e edge, cycle []*Type) {
	var chain strings.Builder
	for _, t := range cycle {
		chain.WriteString(t.Name.V + " → ")
	}
	r.report(e.at, RuleRecursiveType, "type %s contains itself: %s%s", cycle[0].Name.V, chain.String(), cycle[0].Name.V).
		Hint = e.hint
}

// markRecursive finds the types whose values can contain others of the same type:
// those on a cycle of references. It is Tarjan's algorithm for strongly connected
// components.
func markRecursive(types []*Type) {
	m := &recursionMarker{order: map[*Type]int{}, low: map[*Type]int{}, open: map[*Type]bool{}}
	for _, t := range types {
		if m.order[t] == 0 {
			m.visit(t)
		}
	}
}

type recursionMarker struct {
	order, low map[*Type]int // when a type was met, and the earliest that it leads to
	stack      []*Type
	open       map[*Type]bool // on the stack
}

func (m *recursionMarker) visit(t *Type) {
	m.order[t] = len(m.order) + 1
	m.low[t] = m.order[t]
	m.stack = append(m.stack, t)
	m.open[t] = true
	for _, next := range t.references() {
		if next == t {
			t.Recursive = true
		}
		if m.order[next] == 0 {
			m.visit(next)
			m.low[t] = min(m.low[t], m.low[next])
		} else if m.open[next] {
			m.low[t] = min(m.low[t], m.order[next])
		}
	}
	if m.low[t] != m.order[t] {
		return
	}
	i := slices.Index(m.stack, t)
	for _, member := range m.stack[i:] {
		member.Recursive = member.Recursive || len(m.stack)-i > 1
		m.open[member] = false
	}
	m.stack = m.stack[:i]
}

// references lists the declared types that t is made of.
func (t *Type) references() []*Type {
	var all []*Type
	for _, f := range t.Fields {
		if named := f.Type.named(); named != nil {
			all = append(all, named)
		}
	}
	for _, v := range t.Variants {
		all = append(all, v.Type)
	}
	return all
}
