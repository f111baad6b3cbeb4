package types

import (
	"fmt"
	"slices"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// fieldNames finds names of one payload or struct in stored JSON that two fields would have, or that no field may have.
// The case of names does not count, as for decoders, except that a field can have had its own name in another case.
type fieldNames struct {
	*text.Reader
	what string // for messages: payload of event order.placed
	// between is set for fields of mixins, each of which was checked by itself: what matters is only between two of
	// them, or between one and what has it.
	between bool
	held    map[string][]holder // by the folded name: encoding/json takes a key in another case for a field, too
}

// A holder is what has a name.
type holder struct {
	what  string
	at    diag.Place
	hint  string // if the name is reserved
	field *catalog.Field
}

// matters tells whether a clash is reported, by the mixins that bring the two.
func (r *fieldNames) matters(a, b *catalog.Mixin) bool { return !r.between || a != b }

func (r *fieldNames) hold(name string, h holder) {
	folded := catalog.FoldJSONName(name)
	r.held[folded] = append(r.held[folded], h)
}

// check reports what is wrong with the names of fields, present and former ones, and with reserved names.
func (r *fieldNames) check(fields []*catalog.Field, reserved []reservedName) {
	r.checkPresent(fields)
	r.held = map[string][]holder{}
	for _, f := range fields {
		r.hold(f.Name.V, holder{nameOf(f), r.jsonNameAt(f), "stored events may hold another value under this name: choose another one", f})
	}
	for _, f := range fields {
		for _, was := range f.Was {
			r.checkFormer(f, was)
		}
	}
	for _, name := range reserved {
		for _, first := range r.held[catalog.FoldJSONName(name.V)] {
			if r.matters(first.field.Mixin, name.mixin) {
				r.Report(first.at, rules.ReservedField, "%s is %s of %s, and is reserved %s", name.V, first.what, r.what, name.within()).
					See(r.NameAt(name.Value), "it is reserved here").
					Hint = first.hint
			}
		}
	}
}

// checkPresent reports fields that have the same name in JSON.
func (r *fieldNames) checkPresent(fields []*catalog.Field) {
	first := map[string]*catalog.Field{}
	for _, f := range fields {
		other := first[f.Name.V]
		switch {
		case other == nil:
			first[f.Name.V] = f
		case r.matters(other.Mixin, f.Mixin):
			r.Report(r.jsonNameAt(f), rules.DuplicateName, "field %s of %s has the JSON name %s, and so does field %s", f.Label(), r.what, diag.Label(f.Name.V), other.Label()).
				See(r.jsonNameAt(other), "field %s is here", other.Label()).
				Hint = "give one of them another name with json"
		}
	}
}

// checkFormer reports a former name of f that another field has or had, or that f has now. Otherwise f holds it.
func (r *fieldNames) checkFormer(f *catalog.Field, was catalog.Value[string]) {
	if was.V == f.Name.V {
		if r.matters(f.Mixin, f.Mixin) {
			r.Report(r.NameAt(was), rules.DuplicateName, "field %s of %s has its present name %s in was", f.Label(), r.what, was.V).
				See(r.jsonNameAt(f), "it is here").
				Hint = "remove it from was"
		}
		return
	}
	holders := r.held[catalog.FoldJSONName(was.V)]
	i := slices.IndexFunc(holders, func(h holder) bool { return h.field != f })
	switch {
	case i >= 0 && r.matters(holders[i].field.Mixin, f.Mixin):
		r.Report(r.NameAt(was), rules.DuplicateName, "former name %[3]s of field %[1]s of %[2]s is also %[4]s", f.Label(), r.what, was.V, holders[i].what).
			See(holders[i].at, "it is here").
			Hint = "a key in stored JSON belongs to one field: remove the former name, or rename the other field"
	case holders == nil:
		r.hold(was.V, holder{"a former name of field " + f.Label(), r.NameAt(was), "keep it under was if this field had the name, and under reserved if another one had it", f})
	}
}

// jsonNameAt returns the place that says which JSON name a field has.
func (r *fieldNames) jsonNameAt(f *catalog.Field) diag.Place {
	if f.OwnJSON.Written() {
		return r.NameAt(f.OwnJSON)
	}
	return r.NameAt(f.Local)
}

// nameOf says whose name in JSON a name is.
func nameOf(f *catalog.Field) string {
	if f.Label() == f.Name.V {
		return "the name of field " + f.Name.V
	}
	return "the JSON name of field " + f.Label()
}

// A reservedName is a name that no field may have, and the mixin that says so; nil for what has the mixins.
type reservedName struct {
	catalog.Value[string]
	mixin *catalog.Mixin
}

// within says what reserves the name.
func (n reservedName) within() string {
	if n.mixin == nil {
		return "there"
	}
	return fmt.Sprintf("by its mixin %s", n.mixin.Name.V)
}
