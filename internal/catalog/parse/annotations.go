package parse

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// owner reads who is responsible for an event.
func (r *Events) owner(o object) catalog.Value[string] {
	v := r.sentence(o, "owner")
	if strings.ContainsAny(v.V, "\n\r") {
		r.report(r.place(o.entries["owner"].value), rules.WrongKind, "owner of %s has several lines", o.what).
			Hint = "write a name or an address on one line"
	}
	return v
}

// tags reads the tags of an event.
func (r *Events) tags(o object) []catalog.Value[string] {
	e, ok := o.entries["tags"]
	if !ok {
		return nil
	}
	if e.value.Kind != yaml.SequenceNode {
		r.wrongKind(e.value, "tags of "+o.what, "a list")
		return nil
	}
	var tags []catalog.Value[string]
	first := map[string]*yaml.Node{}
	for _, item := range e.value.Content {
		tag, ok := r.text(item, "one of tags of "+o.what)
		switch {
		case !ok:
		case !catalog.TagName.MatchString(tag.V):
			r.report(r.place(item), rules.BadName, "tag %s of %s does not have a valid form", diag.Label(tag.V), o.what).
				Hint = "use lower-case letters and digits, with single -, _ or . between them"
		case first[tag.V] != nil:
			r.report(r.place(item), rules.DuplicateName, "tag %s is already among the tags of %s", tag.V, o.what).
				See(r.place(first[tag.V]), "it is here")
		default:
			first[tag.V] = item
			tags = append(tags, tag)
		}
	}
	return tags
}
