package names

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// maxFormerNames limits the former names of a field: generated code looks for each of them.
const maxFormerNames = 100

// Former reads `was:` of a field: the names that it had before, one or a list.
func (r *Names) Former(o text.Object) []catalog.Value[string] {
	e, ok := o.Entries["was"]
	if !ok {
		return nil
	}
	items := []*yaml.Node{e.Value}
	if e.Value.Kind != yaml.ScalarNode {
		items = r.nameList(e, "was of "+o.What, "the former name of the field, or a list of them")
	}
	if len(items) > maxFormerNames {
		r.Report(r.Place(e.Key), rules.OutOfRange, "%s has %d former names", o.What, len(items)).
			Hint = fmt.Sprintf("at most %d are allowed", maxFormerNames)
		return nil
	}
	return r.fieldNames(items, "was of "+o.What)
}

// Reserved reads `reserved:` beside fields: the names that none of them may have.
func (r *Names) Reserved(o text.Object) []catalog.Value[string] {
	what := "reserved of " + o.What
	return r.fieldNames(r.nameList(o.Entries["reserved"], what, "a list of names of fields"), what)
}

// nameList returns the items of a list, if e is one. It should have some.
func (r *Names) nameList(e text.Entry, what, want string) []*yaml.Node {
	switch {
	case e.Value == nil:
		return nil
	case e.Value.Kind != yaml.SequenceNode:
		r.WrongKind(e.Value, what, want)
		return nil
	case len(e.Value.Content) == 0:
		r.Report(r.Place(e.Value), rules.WrongKind, "%s is empty", what).
			Hint = "name a field, or remove the key"
	}
	return e.Value.Content
}

// fieldNames reads names of fields, none of them twice.
func (r *Names) fieldNames(items []*yaml.Node, what string) []catalog.Value[string] {
	var names []catalog.Value[string]
	first := map[string]*yaml.Node{}
	for _, item := range items {
		name, ok := r.Text(item, "a name in "+what)
		switch {
		case !ok:
		case !r.CheckJSONName(item, name.V, "%s in "+what):
		case first[name.V] != nil:
			r.Report(r.Place(item), rules.DuplicateName, "%s is already in %s", name.V, what).
				See(r.Place(first[name.V]), "it is here")
		default:
			first[name.V] = item
			names = append(names, name)
		}
	}
	return names
}

// FormerNames reads `aliases:`. valid checks each name and reports what is wrong with it.
func (r *Names) FormerNames(o text.Object,
	valid func(name string, n *yaml.Node, what string) bool) (all []catalog.Value[string]) {
	for item, name := range r.Texts(o.Entries["aliases"], "aliases of "+o.What, "a list of former names") {
		if valid(name.V, item, "alias "+diag.Label(name.V)+" of "+o.What) {
			all = append(all, name)
		}
	}
	return all
}
