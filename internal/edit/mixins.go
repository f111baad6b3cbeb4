package edit

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// mixinLists returns the lists of mixins, which stand beside fields.
func (e *editor) mixinLists() []*yaml.Node {
	var all []*yaml.Node
	var visit func(body *yaml.Node)
	visit = func(body *yaml.Node) {
		if list := below(body, "mixins"); list != nil && list.Kind == yaml.SequenceNode {
			all = append(all, list)
		}
		for _, fields := range []string{"fields", "payload"} { // structs in place are among them
			eachPair(below(body, fields), func(_, field *yaml.Node) {
				if field.Kind == yaml.MappingNode {
					visit(field)
				}
			})
		}
	}
	e.each("types", func(_, body *yaml.Node) {
		visit(body)
		eachPair(below(body, "one_of"), func(_, variant *yaml.Node) { visit(variant) })
	})
	e.each("events", func(_, body *yaml.Node) {
		visit(body)
		eachPair(below(body, "history"), func(_, old *yaml.Node) { visit(old) })
	})
	return all
}

// inMixins replaces the name of a type in the lists of mixins.
func (e *editor) inMixins(from, to string) {
	for _, list := range e.mixinLists() {
		for _, name := range list.Content {
			if name.Value == from {
				e.scalar(name, from, to)
			}
		}
	}
}

// inKeys renames a field, given by its key, where events name it as one of their keys.
func (e *editor) inKeys(c *catalog.Catalogue, key *yaml.Node, to string) {
	at := e.position(key)
	for _, event := range c.Events {
		for name, by := range map[string]*catalog.Field{"partition_by": event.PartitionBy, "dedupe_by": event.DedupeBy, "await_by": event.AwaitBy} {
			if by == nil || by.Name.Pos != at {
				continue
			}
			if written := e.at("events", event.Local.V, name); written != nil {
				e.scalar(written, key.Value, to)
			}
		}
	}
}

// MixedInError reports that a field cannot be renamed where a mixin brings it.
type MixedInError struct {
	Path  string // of the field that should be renamed: order.placed.note
	Field string // where it is: Audit.note
}

// Error says what to rename instead.
func (e *MixedInError) Error() string {
	return fmt.Sprintf("%s is a field of a mixin: rename %s, which changes it in everything that has the mixin", e.Path, e.Field)
}

// broughtByMixin returns the path of the field that a mixin brings to an event or a type, or "" if none does.
func broughtByMixin(c *catalog.Catalogue, owner, name string) string {
	fields := map[string][]*catalog.Field{}
	for _, event := range c.Events {
		fields[event.Local.V] = event.Fields
	}
	places := map[diag.Position]string{}
	for _, t := range c.Types {
		fields[t.Name.V] = t.Fields
		for _, f := range t.Fields {
			if f.Mixin == nil && !t.Inline {
				places[f.Name.Pos] = t.Name.V + "." + f.Local.V
			}
		}
	}
	for _, f := range fields[owner] {
		if f.Local.V == name && f.Mixin != nil {
			return places[f.Name.Pos]
		}
	}
	return ""
}
