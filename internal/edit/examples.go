package edit

import (
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
)

// inExamples changes the name in JSON of a field, given by its key, in all examples and payloads of schedules.
func (e *editor) inExamples(c *catalog.Catalogue, key *yaml.Node, from, to string) {
	at := e.position(key)
	e.walkExamples(c, exampleWalker{field: func(f *catalog.Field, key *yaml.Node) {
		if f.Name.Pos == at {
			e.scalar(key, from, to)
		}
	}})
}

// walkExamples visits all payloads that a catalogue has: examples, and those of schedules.
func (e *editor) walkExamples(c *catalog.Catalogue, w exampleWalker) {
	for _, event := range c.Events {
		if examples := e.at("events", event.Label(), "examples"); examples != nil {
			for _, example := range examples.Content {
				w.fields(example, event.Fields)
			}
		}
	}
	for _, s := range c.Schedules {
		if payload := e.at("schedules", s.Name.V, "payload"); payload != nil {
			w.fields(payload, s.Event.Fields)
		}
	}
}

// An exampleWalker visits the parts of an example, each with what it is an example of. A nil function is
// not called.
type exampleWalker struct {
	field func(f *catalog.Field, key *yaml.Node)
	value func(enum *catalog.Type, n *yaml.Node)
}

func (w exampleWalker) fields(n *yaml.Node, fields []*catalog.Field) {
	eachPair(n, func(key, val *yaml.Node) {
		for _, f := range fields {
			if f.Name.V == key.Value {
				if w.field != nil {
					w.field(f, key)
				}
				w.of(val, f.Type)
			}
		}
	})
}

func (w exampleWalker) of(n *yaml.Node, t *catalog.TypeRef) {
	switch {
	case t.Kind == catalog.List && n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			w.of(item, t.Elem)
		}
	case t.Kind == catalog.Map:
		eachPair(n, func(_, val *yaml.Node) { w.of(val, t.Elem) })
	case t.IsStruct():
		w.fields(n, t.Named.Fields)
	case t.IsEnum() && w.value != nil:
		w.value(t.Named, n)
	case t.IsUnion():
		_, chosen := value(n, t.Named.Discriminator.V)
		for _, v := range t.Named.Variants {
			if chosen != nil && v.Name.V == chosen.Value {
				w.fields(n, v.Type.Fields)
			}
		}
	}
}
