package schema

import (
	"slices"

	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/tree"
)

// settled makes optional properties of those that an object has only under some condition: all
// of them are fields of the struct. A union is left as it is.
func (sr *Reader) settled(s *tree.Node) *tree.Node {
	if !s.Is(tree.Object) {
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
	f := s.Without("if", "then", "else", "dependentSchemas", "dependencies")
	f.Sometimes = nil
	if v, _ := sr.FindVariants(s); v == nil {
		f = f.Without("oneOf", "anyOf")
	} else {
		conditions = slices.DeleteFunc(conditions, func(c *tree.Node) bool { return c == s })
	}
	own := s.Get("properties")
	later := tree.NewObject(s.At("properties"))
	for _, c := range conditions {
		for _, m := range c.Members {
			if slices.Contains(conditional, m.Name) {
				sr.takeProperties(later, own, m)
			}
		}
		for _, p := range c.Get("if").Get("properties").Properties() {
			if own.Get(p.Name) == nil && later.Get(p.Name) == nil {
				later.Add(p.Name, p.At, onlyType(p.Value))
			}
		}
	}
	if later.Members != nil {
		both := tree.NewObject(later.Place)
		both.Members = slices.Concat(own.Properties(), later.Members)
		f = f.Without("properties").Add("properties", s.At("properties"), both)
	}
	sr.settlements[s] = f
	return f
}

// conditionsOf are the schemas in which something of s holds for some values only.
func conditionsOf(s *tree.Node) []*tree.Node {
	all := s.Sometimes
	if slices.ContainsFunc(s.Members, func(m tree.Member) bool {
		return m.Name == "if" || slices.Contains(conditional, m.Name)
	}) {
		all = append(slices.Clip(all), s)
	}
	return all
}

// mayBeStruct tells whether conditions add properties to a struct. Alternatives alone are
// something else: a union, or values of different types.
func (sr *Reader) mayBeStruct(s *tree.Node, conditions []*tree.Node) bool {
	if kind := s.Str("type"); kind != "" && kind != "object" || s.Get("type").Is(tree.List) {
		return false
	}
	if s.Get("properties") != nil || s.Get("required") != nil || sr.areStructs(s) {
		return true
	}
	return slices.ContainsFunc(conditions, func(c *tree.Node) bool {
		if asked := sr.Look(c.Get("if")).Schema; asked.Is(tree.Object) && len(KindsOf(asked)) > 0 &&
			!slices.Contains(KindsOf(asked), "object") {
			return false // there are values of other types, too
		}
		for _, keyword := range []string{"then", "else"} {
			if b := c.Get(keyword); b != nil && sr.Look(b).Schema.Get("properties") != nil {
				return true
			}
		}
		return false
	})
}

// areStructs tells whether the alternatives of a schema are structs that nothing tells apart: one struct can have the
// properties of all. Some may be objects without properties.
func (sr *Reader) areStructs(s *tree.Node) bool {
	key := "oneOf"
	if s.Get(key) == nil {
		key = "anyOf"
	}
	branches := s.Get(key).Elements()
	if len(branches) < 2 {
		return false
	}
	named := false
	for _, b := range branches {
		u := sr.Look(b)
		if !u.Schema.Is(tree.Object) || u.Nullable || !slices.Equal(KindsOf(u.Schema), []string{"object"}) {
			return false
		}
		rest := u.Schema.Get("additionalProperties")
		switch {
		case len(u.Schema.Get("properties").Properties()) > 0:
			named = true
		case !rest.Is(tree.Boolean) || rest.Text == "true":
			return false // nothing is known of it
		}
	}
	v, _ := sr.FindVariants(s)
	return named && v == nil
}

// takeProperties takes the properties of the schemas of a conditional keyword that are not
// among own.
func (sr *Reader) takeProperties(to, own *tree.Node, m tree.Member) {
	branches := []*tree.Node{m.Value}
	switch m.Name {
	case "anyOf", "oneOf":
		branches = m.Value.Items
	case "dependentSchemas", "dependencies":
		branches = nil
		for _, d := range m.Value.Properties() {
			branches = append(branches, d.Value)
		}
	}
	taken := false
	for _, b := range branches {
		u := sr.Look(b)
		sr.Absorb(u.Def)
		for _, p := range u.Schema.Get("properties").Properties() {
			if own.Get(p.Name) == nil && !isNever(p.Value) {
				taken = true
				addAlternative(to, p)
			}
		}
	}
	if taken {
		sr.Report(m.At, rules.ImportKeyword, "%s applies only sometimes; its properties become optional fields",
			findings.Quote(m.Name)).
			Hint = CheckWherePublished
		return
	}
	sr.Report(m.At, rules.ImportKeyword, "%s has no counterpart in a catalogue", findings.Quote(m.Name)).
		Hint = CheckWherePublished
}

// addAlternative adds a property. One that is there already may be either.
func addAlternative(to *tree.Node, p tree.Member) {
	have := to.Get(p.Name)
	switch {
	case have == nil:
		to.Add(p.Name, p.At, p.Value)
	case tree.Same(have, p.Value):
	case have.Either:
		if !slices.ContainsFunc(have.Get("anyOf").Items, func(n *tree.Node) bool { return tree.Same(n, p.Value) }) {
			have.Members[0].Value.Items = append(have.Members[0].Value.Items, p.Value)
		}
	default:
		both := tree.NewList(have.Place, have, p.Value)
		either := tree.NewObject(have.Place).Add("anyOf", p.At, both)
		either.Either = true
		to.Set(p.Name, either)
	}
}

// isNever tells a schema that no value is of: the property must not be there.
func isNever(s *tree.Node) bool {
	not := s.Get("not")
	return s.IsFalse() || not.Is(tree.Object) && len(not.Members) == 0
}

// onlyType is the schema of the values that a condition asks for and of the others.
func onlyType(s *tree.Node) *tree.Node {
	loose := tree.NewObject(s.Place)
	if types := s.Get("type"); types != nil {
		loose.Add("type", s.At("type"), types)
	} else if values := ValuesIn(s); len(values) > 0 && values[0].Is(tree.Text) {
		loose.Add("type", s.Place, tree.NewText(s.Place, "string"))
	}
	return loose
}
