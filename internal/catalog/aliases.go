package catalog

import (
	"slices"
	"strconv"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"

	"gopkg.in/yaml.v3"
)

// formerNames reads `aliases:`, the names that something had before. Each is held
// against valid, which reports what is wrong with it.
func (r *reader) formerNames(o object, valid func(name Value[string], item *yaml.Node, what string) bool) []Value[string] {
	e, ok := o.entries["aliases"]
	if !ok {
		return nil
	}
	if e.value.Kind != yaml.SequenceNode {
		r.wrongKind(e.value, "aliases of "+o.what, "a list of former names")
		return nil
	}
	var all []Value[string]
	for _, item := range e.value.Content {
		name, ok := r.text(item, "one of aliases of "+o.what)
		if ok && valid(name, item, "alias "+label(name.V)+" of "+o.what) {
			all = append(all, name)
		}
	}
	return all
}

// eventAliases reads the names under which events of this type were published.
func (r *reader) eventAliases(o object) []Value[string] {
	return r.formerNames(o, func(name Value[string], item *yaml.Node, what string) bool {
		if err := glob.ValidName(name.V); err != nil {
			r.syntaxOf(entry{name: name.V, key: item}, err, rules.BadName, "an alias of "+o.what+": %s is not a name for an event: %s")
			return false
		}
		return true
	})
}

// subscriptionAliases reads the durable names that a subscription had.
func (r *reader) subscriptionAliases(o object) []Value[string] {
	return r.formerNames(o, func(name Value[string], item *yaml.Node, what string) bool {
		return r.checkSubscriptionName(entry{name: name.V, key: item}, what)
	})
}

// checkEventAliases reports former names that still stand for an event, or that
// two events have had.
func (r *reader) checkEventAliases(events []*Event) {
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
				r.report(at, rules.DuplicateName, "%s is the name of %s too", what, first.what).
					See(first.at, "it is here").
					Hint = "a stored event has one type: an alias is a name that nothing else has any more"
				continue
			}
			names[alias.V] = holder{what, at}
		}
	}
}

// EventNamed returns the event of a name, which may be one of its aliases; nil if
// there is none.
func (c *Catalogue) EventNamed(name string) *Event {
	for _, e := range c.Events {
		if e.Name.V == name {
			return e
		}
	}
	for _, e := range c.Events {
		for _, alias := range e.Aliases {
			if alias.V == name {
				return e
			}
		}
	}
	return nil
}

// EventsByName is [Catalogue.EventNamed] for all names at once.
func (c *Catalogue) EventsByName() map[string]*Event {
	all := map[string]*Event{}
	for _, e := range c.Events {
		for _, alias := range e.Aliases {
			if all[alias.V] == nil {
				all[alias.V] = e
			}
		}
	}
	for _, e := range slices.Backward(c.Events) {
		all[e.Name.V] = e
	}
	return all
}

// FieldsOf returns the fields that the payload had in a version. It is false for a
// version that the catalogue does not know, or knows no more.
func (e *Event) FieldsOf(version int) ([]*Field, bool) {
	if version == e.Version.V {
		return e.Fields, true
	}
	for _, old := range e.History {
		if old.Version.V == version {
			return old.Type.Fields, true
		}
	}
	return nil, false
}

// olderVersions says which versions before the present one can be read.
func (e *Event) olderVersions() string {
	if len(e.History) == 0 {
		return ""
	}
	return ", and those from " + strconv.Itoa(e.History[0].Version.V) + " on"
}
