package parse

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// maxFormerNames limits the former names of a field: generated code looks for each of them.
const maxFormerNames = 100

// former reads `was:` of a field: the names that it had before, one or a list.
func (r *Names) former(o object) []catalog.Value[string] {
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
func (r *Names) reserved(o object) []catalog.Value[string] {
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
func (r *Names) nameList(e entry, what, want string) ([]*yaml.Node, bool) {
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
func (r *Names) fieldNames(items []*yaml.Node, what string) []catalog.Value[string] {
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

// formerNames reads `aliases:`. valid checks each name and reports what is wrong with it.
func (r *Names) formerNames(o object, valid func(name catalog.Value[string], item *yaml.Node, what string) bool) []catalog.Value[string] {
	e, ok := o.entries["aliases"]
	if !ok {
		return nil
	}
	if e.value.Kind != yaml.SequenceNode {
		r.wrongKind(e.value, "aliases of "+o.what, "a list of former names")
		return nil
	}
	var all []catalog.Value[string]
	for _, item := range e.value.Content {
		name, ok := r.text(item, "one of aliases of "+o.what)
		if ok && valid(name, item, "alias "+diag.Label(name.V)+" of "+o.what) {
			all = append(all, name)
		}
	}
	return all
}
