package importer

import (
	"slices"

	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/export"
)

// flattened makes one schema of a schema and its allOf. What holds only for some values is kept
// apart, in sometimes.
func (sr *schemaReader) flattened(s *node) *node {
	if f := sr.flat[s]; f != nil {
		return f
	}
	f := s.without("allOf", "if", "then", "else")
	f.sometimes = append(slices.Clone(s.sometimes), ifOf(s)...)
	sr.flat[s] = f
	var own use
	own.annotate(f)
	some, all := own.nullable, own.nullable || !saysType(f) // may be null
	for _, part := range s.get("allOf").items {
		u := sr.follow(part)
		sr.absorb(u.def)
		if u.schema.is(object) && u.schema != f {
			some, all = some || u.nullable, all && (u.nullable || !saysType(u.schema))
			sr.merge(f, u.schema)
		}
	}
	if some && all {
		f.add("nullable", s.place, newBoolean(s.place, true))
	}
	return f
}

// saysType tells whether a schema itself says of which type values are.
func saysType(s *node) bool { return s.get("type") != nil || valuesIn(s) != nil }

// ifOf is the condition of a schema as one of its own, if there is one.
func ifOf(s *node) []*node {
	if s.get("if") == nil {
		return nil
	}
	own := newObject(s.at("if"))
	for _, m := range s.members {
		if m.name == "if" || m.name == "then" || m.name == "else" {
			own.add(m.name, m.at, m.value)
		}
	}
	return []*node{own}
}

// merge adds the keywords of a part.
func (sr *schemaReader) merge(to, part *node) {
	to.sometimes = append(to.sometimes, part.sometimes...)
	to.sometimes = append(to.sometimes, ifOf(part)...)
	for _, m := range part.members {
		have := to.get(m.name)
		switch {
		case slices.Contains(sayingKeywords, m.name) && m.name != "description", m.name == "discriminator":
		case m.name == "if", m.name == "then", m.name == "else":
		case m.name == "enum", m.name == "const":
			sr.mergeValues(to, m)
		case have == nil:
			to.add(m.name, m.at, m.value)
		case m.name == "description", same(have, m.value):
		case m.name == "properties" && have.is(object):
			to.set(m.name, mergedProperties(have, m.value))
		case m.name == "required" && have.is(list):
			both := *have
			both.items = slices.Concat(have.items, m.value.items)
			to.set(m.name, &both)
		case slices.Contains(conditional, m.name):
			to.sometimes = append(to.sometimes, newObject(m.at).add(m.name, m.at, m.value))
		case m.name == "pattern" && m.value.text == export.URLPattern && to.str("format") == "uri":
			to.set("format", newText(m.at, "url")) // with a pattern of its own
		case m.name == "type":
			sr.mergeTypes(to, have, m)
		case slices.Contains(leasts, m.name), slices.Contains(mosts, m.name):
			sr.mergeLimits(to, have, m)
		case keywordHints[m.name] != "": // leftovers reports it
		default:
			sr.differ(m)
		}
	}
}

func (sr *schemaReader) differ(m member) {
	sr.report(m.at, rules.ImportKeyword, "parts of allOf have different %s; the first one counts", quoted(m.name))
}

// mergedProperties are the properties of two parts. For one that both have, both count; null alone,
// which a catalogue has no type for, does not.
func mergedProperties(a, b *node) *node {
	both := *a
	both.members = slices.Clone(a.members)
	for _, m := range b.members {
		switch have := both.get(m.name); {
		case have == nil:
			both.add(m.name, m.at, m.value)
		case isNull(have):
			both.set(m.name, m.value)
		case !same(have, m.value) && !isNull(m.value):
			parts := newList(m.at, have, m.value)
			both.set(m.name, newObject(have.place).add("allOf", m.at, parts))
		}
	}
	return &both
}

// mergeValues leaves the values that both parts list.
func (sr *schemaReader) mergeValues(to *node, m member) {
	have, theirs := valuesIn(to), m.value.items
	if m.name == "const" {
		theirs = []*node{m.value}
	}
	if have == nil {
		to.add(m.name, m.at, m.value)
		return
	}
	both := slices.DeleteFunc(slices.Clone(have), func(v *node) bool {
		return !slices.ContainsFunc(theirs, func(other *node) bool { return same(v, other) })
	})
	if len(both) == 0 {
		sr.differ(m)
		return
	}
	to.members = to.without("enum", "const").add("enum", m.at, newList(m.value.place, both...)).members
}

// valuesIn are the values of enum or const.
func valuesIn(s *node) []*node {
	if one := s.get("const"); one != nil {
		return []*node{one}
	}
	return s.get("enum").elements()
}

// mergeTypes leaves the types that both parts allow.
func (sr *schemaReader) mergeTypes(to, have *node, m member) {
	var both []*node
	for _, a := range typesIn(have) {
		for _, b := range typesIn(m.value) {
			switch {
			case a.text == b.text, a.text == "integer" && b.text == "number":
				both = append(both, a)
			case a.text == "number" && b.text == "integer":
				both = append(both, b)
			}
		}
	}
	switch len(both) {
	case 0:
		sr.differ(m)
	case 1:
		to.set("type", both[0])
	default:
		to.set("type", newList(m.value.place, both...))
	}
}

func typesIn(n *node) []*node {
	if n.is(list) {
		return n.items
	}
	return []*node{n}
}

// leasts and mosts are the keywords of limits.
var (
	leasts = []string{"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}
	mosts  = []string{"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}
)

// mergeLimits leaves the limit that allows less.
func (sr *schemaReader) mergeLimits(to, have *node, m member) {
	a, ok := have.rational()
	b, alsoOK := m.value.rational()
	if !ok || !alsoOK {
		sr.differ(m)
		return
	}
	if tighter := b.Cmp(a); tighter > 0 && slices.Contains(leasts, m.name) || tighter < 0 && slices.Contains(mosts, m.name) {
		to.set(m.name, m.value)
	}
}
