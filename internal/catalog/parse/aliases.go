package parse

import (
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
)

// formerNames reads `aliases:`. valid checks each name and reports what is wrong with it.
func (r *reader) formerNames(o object, valid func(name catalog.Value[string], item *yaml.Node, what string) bool) []catalog.Value[string] {
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
		if ok && valid(name, item, "alias "+label(name.V)+" of "+o.what) {
			all = append(all, name)
		}
	}
	return all
}

// eventAliases reads the names under which events of this type were published.
func (r *reader) eventAliases(o object) []catalog.Value[string] {
	return r.formerNames(o, func(name catalog.Value[string], item *yaml.Node, what string) bool {
		if err := glob.ValidName(name.V); err != nil {
			r.syntaxOf(entry{name: name.V, key: item}, err, rules.BadName, "an alias of "+o.what+": %s is not a valid name of an event: %s")
			return false
		}
		return true
	})
}

// subscriptionAliases reads the durable names that a subscription had.
func (r *reader) subscriptionAliases(o object) []catalog.Value[string] {
	return r.formerNames(o, func(name catalog.Value[string], item *yaml.Node, what string) bool {
		return r.checkSubscriptionName(entry{name: name.V, key: item}, what)
	})
}

// checkEventAliases reports aliases that are names of events, and aliases of two events.
func (r *reader) checkEventAliases(events []*catalog.Event) {
	type holder struct {
		what string
		at   diag.Place
	}
	names := map[string]holder{}
	for _, e := range events {
		names[e.Name.V] = holder{"event " + e.Name.V, r.nameAt(e.Name)}
	}
	for _, e := range events {
		for _, alias := range e.Aliases {
			what, at := "alias "+alias.V+" of event "+e.Name.V, r.nameAt(alias)
			if first, taken := names[alias.V]; taken {
				r.report(at, rules.DuplicateName, "%s is also the name of %s", what, first.what).
					See(first.at, "it is here").
					Hint = "remove one of them: an alias must be a name that nothing else has"
				continue
			}
			names[alias.V] = holder{what, at}
		}
	}
}
