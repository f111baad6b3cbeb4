package types

import (
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// An edge leads from a type to one of which its values must have or may have a value.
type edge struct {
	to   *catalog.Type
	at   diag.Place
	hint string
}

// A recursion finds types that contain themselves so that no value could ever be complete.
type recursion struct {
	*text.Reader
	done map[*catalog.Type]bool
	path []*catalog.Type // from the one that was asked for
}

func checkRecursion(r *text.Reader, types []*catalog.Type) {
	all := recursion{Reader: r, done: map[*catalog.Type]bool{}}
	for t := range catalog.Ranks(types) {
		all.done[t] = true
	}
	for _, t := range types {
		if !all.done[t] {
			all.visit(t)
		}
	}
}

func (r *recursion) visit(t *catalog.Type) {
	r.path = append(r.path, t)
	for _, e := range r.needed(t) {
		if r.done[e.to] || e.to.Package != nil {
			continue
		}
		if i := slices.Index(r.path, e.to); i >= 0 {
			r.recursive(e, r.path[i:])
			continue
		}
		r.visit(e.to)
	}
	r.path = r.path[:len(r.path)-1]
	r.done[t] = true
}

// needed lists what a value of t must have.
func (r *recursion) needed(t *catalog.Type) []edge {
	var edges []edge
	for _, f := range t.Fields {
		if next := f.Needs(); next != nil {
			hint := "make a field on the way optional (" + f.Type.Text + "?) or a list"
			if f.Type.IsCollection() {
				hint = "let a list on the way be empty, without min_items"
			}
			edges = append(edges, edge{next, r.TypeAt(f.Type), hint})
		}
	}
	for _, v := range t.Variants {
		edges = append(edges, edge{v.Type, r.NameAt(v.Name), "add a variant that ends it"})
	}
	return edges
}

func (r *recursion) recursive(e edge, cycle []*catalog.Type) {
	var chain strings.Builder
	for _, t := range cycle {
		chain.WriteString(t.Name.V + " → ")
	}
	r.Report(e.at, rules.RecursiveType, "type %s contains itself: %s%s", cycle[0].Name.V, chain.String(), cycle[0].Name.V).
		Hint = e.hint
}
