package export

import (
	"slices"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/plainjson"
)

// schema2020 is the dialect of [JSONSchema].
var schema2020 = dialect{refs: "#/$defs/", besideRefs: true}

// JSONSchema returns a JSON Schema (draft 2020-12) whose $defs have the payload of
// each event, under the event's name, and each type.
func JSONSchema(c *catalog.Catalogue) ([]byte, error) {
	s := object{}
	s.set("$schema", "https://json-schema.org/draft/2020-12/schema")
	s.set("title", c.Package.V)
	if len(c.Events) > 0 {
		s.set("description", "The payload of an event is described by $defs under its name, as in #/$defs/"+c.Events[0].Name.V+".")
	}
	types := typesIn(c)
	d := schema2020.naming(c.Events, types)
	defs := object{}
	for _, e := range c.Events {
		defs.add(e.Name.V, d.payload(e))
	}
	for _, t := range types {
		defs.add(d.name(t), d.named(t))
	}
	s.set("$defs", defs)
	return plainjson.Document(s)
}

// EventSchema returns a JSON Schema (draft 2020-12) of the payload of one event,
// with the types that it needs.
func EventSchema(e *catalog.Event) ([]byte, error) {
	types := typesOf(e.Fields)
	d := schema2020.naming([]*catalog.Event{e}, types)
	s := object{}
	s.set("$schema", "https://json-schema.org/draft/2020-12/schema")
	for _, m := range d.payload(e) {
		s.set(m.key, m.value)
	}
	defs := object{}
	for _, t := range types {
		defs.add(d.name(t), d.named(t))
	}
	if len(defs) > 0 {
		s.set("$defs", defs)
	}
	return plainjson.Document(s)
}

// typesIn lists the types of a catalogue, and those of other catalogues that it uses.
func typesIn(c *catalog.Catalogue) []*catalog.Type { return slices.Concat(c.Types, c.Imported) }

// typesOf lists the types that fields are made of, each of them once.
func typesOf(fields []*catalog.Field) []*catalog.Type {
	var all []*catalog.Type
	seen := map[*catalog.Type]bool{}
	var visit func(fields []*catalog.Field)
	add := func(t *catalog.Type) {
		if t != nil && !seen[t] {
			seen[t] = true
			all = append(all, t)
			visit(t.Fields)
		}
	}
	visit = func(fields []*catalog.Field) {
		for _, f := range fields {
			named := f.Type.Uses()
			add(named)
			if named != nil {
				for _, v := range named.Variants {
					add(v.Type)
				}
			}
		}
	}
	visit(fields)
	return all
}
