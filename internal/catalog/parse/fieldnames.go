package parse

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// maxFormerNames limits the former names of a field: generated code looks for each of them.
const maxFormerNames = 100

// former reads `was:` of a field: the names that it had before, one or a list.
func (r *reader) former(o object) []catalog.Value[string] {
	e, ok := o.entries["was"]
	if !ok {
		return nil
	}
	items := []*yaml.Node{e.value}
	if e.value.Kind != yaml.ScalarNode {
		if items, ok = r.nameList(e, "was of "+o.what, "the former name of the field, or a list of them"); !ok {
			return nil
		}
	}
	if len(items) > maxFormerNames {
		r.report(r.place(e.key), rules.OutOfRange, "%s has %d former names", o.what, len(items)).
			Hint = fmt.Sprintf("at most %d are allowed", maxFormerNames)
		return nil
	}
	return r.fieldNames(items, "was of "+o.what)
}

// reserved reads `reserved:` beside fields: the names that none of them may have.
func (r *reader) reserved(o object) []catalog.Value[string] {
	e, ok := o.entries["reserved"]
	if !ok {
		return nil
	}
	items, ok := r.nameList(e, "reserved of "+o.what, "a list of names of fields")
	if !ok {
		return nil
	}
	return r.fieldNames(items, "reserved of "+o.what)
}

// nameList returns the items of a list that has some.
func (r *reader) nameList(e entry, what, want string) ([]*yaml.Node, bool) {
	switch {
	case e.value.Kind != yaml.SequenceNode:
		r.wrongKind(e.value, what, want)
		return nil, false
	case len(e.value.Content) == 0:
		r.report(r.place(e.value), rules.WrongKind, "%s is empty", what).
			Hint = "name a field, or remove the key"
		return nil, false
	}
	return e.value.Content, true
}

// fieldNames reads names of fields, none of them twice.
func (r *reader) fieldNames(items []*yaml.Node, what string) []catalog.Value[string] {
	var names []catalog.Value[string]
	first := map[string]*yaml.Node{}
	for _, item := range items {
		name, ok := r.text(item, "a name in "+what)
		switch {
		case !ok:
		case !r.checkJSONName(item, name.V, "%s in "+what):
		case first[name.V] != nil:
			r.report(r.place(item), rules.DuplicateName, "%s is already in %s", name.V, what).
				See(r.place(first[name.V]), "it is here")
		default:
			first[name.V] = item
			names = append(names, name)
		}
	}
	return names
}

// checkFieldNames reports a name that stands for two fields in stored JSON, and fields that have a
// reserved name, or had one. The case of names does not count, as for decoders, except that a field can have
// had its own name in another case.
func (r *reader) checkFieldNames(what string, fields []*catalog.Field, reserved []catalog.Value[string]) {
	var names []reservedName
	for _, name := range reserved {
		names = append(names, reservedName{name, nil})
	}
	r.checkNames(what, fields, names, func(a, b *catalog.Mixin) bool { return true })
}

// checkNamesBetween is checkFieldNames for what mixins bring to a payload or struct, and what that has itself.
// Each of them was checked by itself.
func (r *reader) checkNamesBetween(what string, fields []*catalog.Field, reserved []reservedName) {
	r.checkNames(what, fields, reserved, func(a, b *catalog.Mixin) bool { return a != b })
}

// checkNames reports names in JSON that two of a payload or struct cannot have both; matters tells what is reported,
// by the mixins that bring the two.
func (r *reader) checkNames(what string, fields []*catalog.Field, reserved []reservedName, matters func(a, b *catalog.Mixin) bool) {
	type holder struct {
		what  string
		at    diag.Place
		hint  string // if it is reserved
		field *catalog.Field
	}
	r.checkJSONCollisions(what, fields, matters)
	held := map[string][]holder{} // by the name, whatever its case: encoding/json takes a key in another case for a field, too
	hold := func(name string, h holder) {
		held[catalog.FoldJSONName(name)] = append(held[catalog.FoldJSONName(name)], h)
	}
	for _, f := range fields {
		hold(f.Name.V, holder{nameOf(f), r.jsonNameAt(f), "stored events may hold another value under this name: choose another one", f})
	}
	for _, f := range fields {
		for _, was := range f.Was {
			if was.V == f.Name.V {
				if !matters(f.Mixin, f.Mixin) {
					continue
				}
				r.report(r.nameAt(was), rules.DuplicateName, "field %s of %s has its present name %s in was", f.Label(), what, was.V).
					See(r.jsonNameAt(f), "it is here").
					Hint = "remove it from was"
				continue
			}
			holders := held[catalog.FoldJSONName(was.V)]
			if i := slices.IndexFunc(holders, func(h holder) bool { return h.field != f }); i >= 0 {
				first := holders[i]
				if !matters(first.field.Mixin, f.Mixin) {
					continue
				}
				r.report(r.nameAt(was), rules.DuplicateName, "former name %[3]s of field %[1]s of %[2]s is also %[4]s", f.Label(), what, was.V, first.what).
					See(first.at, "it is here").
					Hint = "a key in stored JSON belongs to one field: remove the former name, or rename the other field"
				continue
			} else if holders == nil {
				hold(was.V, holder{"a former name of field " + f.Label(), r.nameAt(was), "keep it under was if this field had the name, and under reserved if another one had it", f})
			}
		}
	}
	for _, name := range reserved {
		for _, first := range held[catalog.FoldJSONName(name.V)] {
			if !matters(first.field.Mixin, name.mixin) {
				continue
			}
			r.report(first.at, rules.ReservedField, "%s is %s of %s, and is reserved %s", name.V, first.what, what, name.within()).
				See(r.nameAt(name.Value), "it is reserved here").
				Hint = first.hint
		}
	}
}

// nameOf says whose name in JSON a name is.
func nameOf(f *catalog.Field) string {
	if f.Label() == f.Name.V {
		return "the name of field " + f.Name.V
	}
	return "the JSON name of field " + f.Label()
}
