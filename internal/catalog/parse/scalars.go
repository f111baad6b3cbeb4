package parse

import (
	"maps"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// scalar reads the type of a named scalar, and its constraints if it is written as a mapping.
func (r *Types) scalar(n *yaml.Node, o object, t *catalog.Type) {
	t.Scalar = &catalog.TypeRef{Kind: catalog.String, Text: "string"} // even if there is a finding
	ref := r.typeRef(n, o.what, nil)
	switch {
	case ref == nil:
		return
	case !ref.TakesDefault() || ref.Kind == catalog.Named || ref.MayBeNil():
		r.report(r.place(n), rules.BadType, "%s stands for %s, which is not a scalar", o.what, ref.Text).
			Hint = "a named scalar stands for one of string, bool, int, int32, int64, uint64, float64, decimal, date, duration and uuid; where it is used, it can be optional, or be in a list"
		return
	}
	t.Scalar = ref
	t.Constraints = constraints(r.Reader, o, ref)
}

// shortScalar reads a named scalar that is the text of a type: OrderID: uuid.
func (r *Types) shortScalar(e entry, t *catalog.Type) {
	t.Doc = r.commentAbove(e.key)
	r.scalar(e.value, object{node: e.value, what: "type " + diag.Label(e.name), entries: map[string]entry{}}, t)
}

// checkScalarKeys reports constraints beside a type that is not a named scalar.
func (r *Types) checkScalarKeys(o object, form string) {
	for _, key := range slices.Sorted(maps.Keys(o.entries)) {
		if slices.Contains(constraintKeys, key) {
			r.report(r.place(o.entries[key].key), rules.Conflict, "%s has %s and %s", o.what, form, key).
				Hint = "constraints belong to a field, or to a named scalar: a type with type alone"
		}
	}
}
