package catalog

import (
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// An edge leads from a type to one of which its values must have or may have
// a value.
type edge struct {
	to   *Type
	at   diag.Place
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
		if next := f.needs(); next != nil {
			all = append(all, next)
		}
	}
	for _, v := range t.Variants {
		all = append(all, v.Type)
	}
	return all
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
			if done[e.to] || e.to.Package != nil {
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
	r.report(e.at, rules.RecursiveType, "type %s contains itself: %s%s", cycle[0].Name.V, chain.String(), cycle[0].Name.V).
		Hint = e.hint
}

// markTypes finds out what is true of the values of types with everything inside of
// them: which can contain others of the same type, because they are on a cycle of
// references, and their traits. It is Tarjan's algorithm, which finds such cycles
// (strongly connected components) after everything that they lead to.
func markTypes(types []*Type) {
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
	for _, next := range t.references() {
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

// mark marks the types of one component. Those that it leads to are marked.
func (m *marker) mark(component []*Type) {
	var traits Traits
	for _, t := range component {
		t.Recursive = len(component) > 1 || slices.Contains(t.references(), t)
		traits = traits.or(t.ownTraits())
		for _, next := range t.references() {
			traits = traits.or(next.Traits)
		}
		m.open[t] = false
	}
	for _, t := range component {
		t.Traits = traits
	}
}

func (a Traits) or(b Traits) Traits {
	return Traits{a.Shares || b.Shares, a.Incomparable || b.Incomparable, a.Reflected || b.Reflected}
}

// ownTraits are those of t without the types that it is made of.
func (t *Type) ownTraits() Traits {
	switch {
	case t.IsCustom():
		return Traits{Shares: true, Incomparable: true, Reflected: true}
	case t.IsUnion():
		return Traits{Incomparable: true, Reflected: true}
	}
	var traits Traits
	for _, f := range t.Fields {
		traits = traits.or(f.Type.ownTraits())
	}
	return traits
}

// ownTraits are those of a value of type t without the declared type in it.
func (t *TypeRef) ownTraits() Traits {
	switch {
	case t.Kind == Named && t.Named.IsUnion(): // which has a nil of its own
		return Traits{}
	case t.Optional, t.Elem != nil, t.Kind == Bytes, t.Kind == JSON:
		return Traits{Shares: true, Incomparable: true}
	}
	return Traits{Incomparable: t.Kind == Time}
}

// Traits are those of a value of type t.
func (t *TypeRef) Traits() Traits {
	traits := t.ownTraits()
	if named := t.named(); named != nil {
		traits = traits.or(named.Traits)
	}
	return traits
}

// references lists the declared types that t is made of.
func (t *Type) references() []*Type {
	var all []*Type
	for _, f := range t.Fields {
		if named := f.Type.named(); named != nil && !f.Removed {
			all = append(all, named)
		}
	}
	for _, v := range t.Variants {
		all = append(all, v.Type)
	}
	return all
}
