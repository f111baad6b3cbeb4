package importer

import (
	"slices"

	"github.com/busgen/busgen/internal/diag/rules"
)

// conditional are the keywords with schemas that hold for some values only.
var conditional = []string{"then", "else", "anyOf", "oneOf", "dependentSchemas", "dependencies"}

// settled makes optional properties of those that an object has only under some condition: all
// of them are fields of the struct. A union is left as it is.
func (sr *schemaReader) settled(s *node) *node {
	if !s.is(object) {
		return s
	}
	if f := sr.settlements[s]; f != nil {
		return f
	}
	sr.settlements[s] = s // to those that s contains
	conditions := conditionsOf(s)
	if conditions == nil || !sr.mayBeStruct(s, conditions) {
		return s
	}
	f := s.without("if", "then", "else", "dependentSchemas", "dependencies")
	f.sometimes = nil
	if v, _ := sr.findVariants(s); v == nil {
		f = f.without("oneOf", "anyOf")
	} else {
		conditions = slices.DeleteFunc(conditions, func(c *node) bool { return c == s })
	}
	own := s.get("properties")
	later := newObject(s.at("properties"))
	for _, c := range conditions {
		for _, m := range c.members {
			if slices.Contains(conditional, m.name) {
				sr.takeProperties(later, own, m)
			}
		}
		for _, p := range c.get("if").get("properties").properties() {
			if own.get(p.name) == nil && later.get(p.name) == nil {
				later.add(p.name, p.at, onlyType(p.value))
			}
		}
	}
	if later.members != nil {
		both := newObject(later.place)
		both.members = slices.Concat(own.properties(), later.members)
		f = f.without("properties").add("properties", s.at("properties"), both)
	}
	sr.settlements[s] = f
	return f
}

// conditionsOf are the schemas in which something of s holds for some values only.
func conditionsOf(s *node) []*node {
	all := s.sometimes
	if slices.ContainsFunc(s.members, func(m member) bool { return m.name == "if" || slices.Contains(conditional, m.name) }) {
		all = append(slices.Clip(all), s)
	}
	return all
}

// mayBeStruct tells whether conditions add properties to a struct. Alternatives alone are
// something else: a union, or values of different types.
func (sr *schemaReader) mayBeStruct(s *node, conditions []*node) bool {
	if kind := s.str("type"); kind != "" && kind != "object" || s.get("type").is(list) {
		return false
	}
	if s.get("properties") != nil || s.get("required") != nil || sr.areStructs(s) {
		return true
	}
	return slices.ContainsFunc(conditions, func(c *node) bool {
		if asked := sr.look(c.get("if")).schema; asked.is(object) && len(kindsOf(asked)) > 0 && !slices.Contains(kindsOf(asked), "object") {
			return false // there are values of other types, too
		}
		for _, keyword := range []string{"then", "else"} {
			if b := c.get(keyword); b != nil && sr.look(b).schema.get("properties") != nil {
				return true
			}
		}
		return false
	})
}

// areStructs tells whether the alternatives of a schema are structs that nothing tells apart: one struct can have the
// properties of all. Some may be objects without properties.
func (sr *schemaReader) areStructs(s *node) bool {
	key := "oneOf"
	if s.get(key) == nil {
		key = "anyOf"
	}
	branches := s.get(key).elements()
	if len(branches) < 2 {
		return false
	}
	named := false
	for _, b := range branches {
		u := sr.look(b)
		if !u.schema.is(object) || u.nullable || !slices.Equal(kindsOf(u.schema), []string{"object"}) {
			return false
		}
		rest := u.schema.get("additionalProperties")
		switch {
		case len(u.schema.get("properties").properties()) > 0:
			named = true
		case !rest.is(boolean) || rest.text == "true":
			return false // nothing is known of it
		}
	}
	v, _ := sr.findVariants(s)
	return named && v == nil
}

// takeProperties takes the properties of the schemas of a conditional keyword that are not
// among own.
func (sr *schemaReader) takeProperties(to, own *node, m member) {
	branches := []*node{m.value}
	switch m.name {
	case "anyOf", "oneOf":
		branches = m.value.items
	case "dependentSchemas", "dependencies":
		branches = nil
		for _, d := range m.value.properties() {
			branches = append(branches, d.value)
		}
	}
	taken := false
	for _, b := range branches {
		u := sr.look(b)
		sr.absorb(u.def)
		for _, p := range u.schema.get("properties").properties() {
			if own.get(p.name) == nil && !isNever(p.value) {
				taken = true
				addAlternative(to, p)
			}
		}
	}
	if taken {
		sr.report(m.at, rules.ImportKeyword, "%s applies only sometimes; its properties become optional fields", quoted(m.name)).
			Hint = checkWherePublished
		return
	}
	sr.report(m.at, rules.ImportKeyword, "%s has no counterpart in a catalogue", quoted(m.name)).Hint = checkWherePublished
}

const checkWherePublished = "check it where the event is published"

// addAlternative adds a property. One that is there already may be either.
func addAlternative(to *node, p member) {
	have := to.get(p.name)
	switch {
	case have == nil:
		to.add(p.name, p.at, p.value)
	case same(have, p.value):
	case have.either:
		if !slices.ContainsFunc(have.get("anyOf").items, func(n *node) bool { return same(n, p.value) }) {
			have.members[0].value.items = append(have.members[0].value.items, p.value)
		}
	default:
		both := newList(have.place, have, p.value)
		either := newObject(have.place).add("anyOf", p.at, both)
		either.either = true
		to.set(p.name, either)
	}
}

// isNever tells a schema that no value is of: the property must not be there.
func isNever(s *node) bool {
	not := s.get("not")
	return s.is(boolean) && s.text == "false" || not.is(object) && len(not.members) == 0
}

// onlyType is the schema of the values that a condition asks for and of the others.
func onlyType(s *node) *node {
	loose := newObject(s.place)
	if types := s.get("type"); types != nil {
		loose.add("type", s.at("type"), types)
	} else if values := valuesIn(s); len(values) > 0 && values[0].is(text) {
		loose.add("type", s.place, newText(s.place, "string"))
	}
	return loose
}
