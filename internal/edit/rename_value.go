package edit

import (
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
)

// RenameValue renames a value of an enum, also in defaults, examples and payloads of schedules. This changes
// the JSON, unless it is an enum of integers.
func RenameValue(c *Catalogue, enum, from, to string) (*Change, error) {
	e, err := newEditor(c)
	if err != nil {
		return nil, err
	}
	values := below(e.at("types", enum), "enum")
	if values == nil {
		return nil, &NotFoundError{What: "enum", Name: enum, Names: e.enums()}
	}
	texts := valuesOf(values)
	var names []string
	for _, n := range texts {
		names = append(names, n.Value)
		if n.Value == from {
			e.scalar(n, from, to)
		}
	}
	if len(e.places) == 0 && e.err == nil {
		return nil, &NotFoundError{What: "value", Name: from, Within: enum, Names: names}
	}
	parsed, findings := c.parse(nil)
	if findings != nil {
		return nil, findings
	}
	for _, t := range parsed.Types {
		if t.Name.V == enum && !t.Integer {
			e.inDefaults(enum, from, to)
			e.valueInExamples(parsed, t, from, to)
		}
	}
	return e.change()
}

// valuesOf returns the values of an enum.
func valuesOf(enum *yaml.Node) []*yaml.Node {
	if enum.Kind == yaml.SequenceNode {
		return enum.Content
	}
	var keys []*yaml.Node
	eachPair(enum, func(key, _ *yaml.Node) { keys = append(keys, key) })
	return keys
}

// enums returns the names of all enums.
func (e *editor) enums() []string {
	var all []string
	e.each("types", func(key, body *yaml.Node) {
		if below(body, "enum") != nil {
			all = append(all, key.Value)
		}
	})
	return all
}

// inDefaults renames a value in the defaults of fields.
func (e *editor) inDefaults(enum, from, to string) {
	rename := func(_, field *yaml.Node) {
		kind, fallback := below(field, "type"), below(field, "default")
		if kind != nil && typeIn(kind.Value) == enum && fallback != nil && fallback.Value == from {
			e.scalar(fallback, from, to)
		}
	}
	for _, fields := range e.allFields() {
		e.eachField(fields, rename)
	}
	e.each("types", func(_, body *yaml.Node) {
		eachPair(below(body, "one_of"), func(_, variant *yaml.Node) { e.eachField(below(variant, "fields"), rename) })
	})
}

// eachField visits fields, and the fields of structs in place.
func (e *editor) eachField(fields *yaml.Node, visit func(key, field *yaml.Node)) {
	eachPair(fields, func(key, field *yaml.Node) {
		visit(key, field)
		e.eachField(below(field, "fields"), visit)
	})
}

// valueInExamples renames a value in all examples.
func (e *editor) valueInExamples(c *catalog.Catalogue, t *catalog.Type, from, to string) {
	e.walkExamples(c, exampleWalker{value: func(of *catalog.Type, n *yaml.Node) {
		if of == t && n.Value == from {
			e.scalar(n, from, to)
		}
	}})
}
