package events

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
)

// eventAliases reads the names under which events of this type were published.
func (r *Events) eventAliases(o text.Object) []catalog.Value[string] {
	return r.names.FormerNames(o, func(name string, n *yaml.Node, _ string) bool {
		return r.checkWire(name, n, "an alias of "+o.What+": %s is not a valid name on the wire: %s")
	})
}

// ownWire reads `wire:` of an event. It is not written without one, and after a finding.
func (r *Events) ownWire(o text.Object) catalog.Value[string] {
	name, n := r.TextOf(o, "wire")
	if n == nil || !r.checkWire(name.V, n, "wire of "+o.What+": %s is not a valid name on the wire: %s") {
		return catalog.Value[string]{}
	}
	return name
}

// checkWire reports what is wrong with a name on the wire. The format has places for the name and the reason.
func (r *Events) checkWire(name string, n *yaml.Node, format string) bool {
	if err := glob.ValidWire(name); err != nil {
		r.names.SyntaxOf(name, n, err, rules.BadName, format)
		return false
	}
	return true
}

// CheckNames reports names on the wire that two events have, in all files, and aliases that are such names,
// or aliases of two events.
func (r *Events) CheckNames() {
	type holder struct {
		what string
		at   diag.Place
	}
	names := map[string]holder{}
	for _, e := range r.declared.Events {
		what, at := "event "+e.Label(), r.NameAt(e.Local)
		if e.OwnWire.Written() {
			at = r.NameAt(e.OwnWire)
		}
		if first, taken := names[e.Name.V]; taken {
			r.Report(at, rules.DuplicateName, "%s is called %s on the wire, and so is %s", what, e.Name.V, first.what).
				See(first.at, "it is here").
				Hint = "give one of them another name with wire: events are stored under it"
			continue
		}
		names[e.Name.V] = holder{what, at}
	}
	for _, e := range r.declared.Events {
		for _, alias := range e.Aliases {
			what, at := "alias "+alias.V+" of event "+e.Label(), r.NameAt(alias)
			if first, taken := names[alias.V]; taken {
				r.Report(at, rules.DuplicateName, "%s is also the name of %s", what, first.what).
					See(first.at, "it is here").
					Hint = "remove one of them: an alias must be a name that nothing else has"
				continue
			}
			names[alias.V] = holder{what, at}
		}
	}
}

// owner reads who is responsible for an event.
func (r *Events) owner(o text.Object) catalog.Value[string] {
	v := r.Sentence(o, "owner")
	if strings.ContainsAny(v.V, "\n\r") {
		r.Report(r.Place(o.Entries["owner"].Value), rules.WrongKind, "owner of %s has several lines", o.What).
			Hint = "write a name or an address on one line"
	}
	return v
}

// tags reads the tags of an event.
func (r *Events) tags(o text.Object) []catalog.Value[string] {
	var tags []catalog.Value[string]
	first := map[string]*yaml.Node{}
	for item, tag := range r.Texts(o.Entries["tags"], "tags of "+o.What, "a list") {
		switch {
		case !catalog.TagName.MatchString(tag.V):
			r.Report(r.Place(item), rules.BadName, "tag %s of %s does not have a valid form", diag.Label(tag.V), o.What).
				Hint = "use lower-case letters and digits, with single -, _ or . between them"
		case first[tag.V] != nil:
			r.Report(r.Place(item), rules.DuplicateName, "tag %s is already among the tags of %s", tag.V, o.What).
				See(r.Place(first[tag.V]), "it is here")
		default:
			first[tag.V] = item
			tags = append(tags, tag)
		}
	}
	return tags
}
