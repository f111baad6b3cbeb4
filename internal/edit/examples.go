package edit

import (
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
)

// inExamples renames a field wherever an example has it. The owner is an event or
// a type.
func (ed *editor) inExamples(c *catalog.Catalogue, owner, from, to string) {
	w := exampleWalker{func(of string, key *yaml.Node) {
		if of == owner && key.Value == from {
			ed.scalar(key, from, to)
		}
	}}
	for _, e := range c.Events {
		if examples := ed.at("events", e.Name.V, "examples"); examples != nil {
			for _, example := range examples.Content {
				w.fields(example, e.Name.V, e.Fields)
			}
		}
	}
}

// An exampleWalker visits the keys of structs in an example, each with the name of
// the event or the type that it is a field of.
type exampleWalker struct {
	visit func(owner string, key *yaml.Node)
}

func (w exampleWalker) fields(n *yaml.Node, owner string, fields []*catalog.Field) {
	eachPair(n, func(key, val *yaml.Node) {
		for _, f := range fields {
			if f.Name.V == key.Value {
				w.visit(owner, key)
				w.value(val, f.Type)
			}
		}
	})
}

func (w exampleWalker) value(n *yaml.Node, t *catalog.TypeRef) {
	switch {
	case t.Kind == catalog.List && n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			w.value(item, t.Elem)
		}
	case t.Kind == catalog.Map:
		eachPair(n, func(_, val *yaml.Node) { w.value(val, t.Elem) })
	case t.Kind == catalog.Named && t.Named.IsStruct():
		w.fields(n, t.Named.Name.V, t.Named.Fields)
	case t.Kind == catalog.Named && t.Named.IsUnion():
		_, chosen := value(n, t.Named.Discriminator.V)
		for _, v := range t.Named.Variants {
			if chosen != nil && v.Name.V == chosen.Value {
				w.fields(n, v.Type.Name.V, v.Type.Fields)
			}
		}
	}
}
