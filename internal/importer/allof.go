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
	f := without(s, "allOf", "if", "then", "else")
	f.sometimes = append(slices.Clone(s.sometimes), ifOf(s)...)
	sr.flat[s] = f
	var own use
	own.annotate(f)
	some, all := own.nullable, own.nullable || !saysType(f) // may be null
	for _, part := range s.get("allOf").items {
		u := sr.follow(part)
		if u.def != nil {
			sr.absorbed[u.def] = true
		}
		if u.schema.is(object) && u.schema != f {
			some, all = some || u.nullable, all && (u.nullable || !saysType(u.schema))
			sr.merge(f, u.schema)
		}
	}
	if some && all {
		f.members = append(f.members, member{"nullable", s.place, &node{kind: boolean, text: "true", place: s.place}})
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
	own := &node{kind: object, place: s.at("if")}
	for _, m := range s.members {
		if m.name == "if" || m.name == "then" || m.name == "else" {
			own.members = append(own.members, m)
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
			to.members = append(to.members, m)
		case m.name == "description", same(have, m.value):
		case m.name == "properties" && have.is(object):
			setMember(to, m.name, mergedProperties(have, m.value))
		case m.name == "required" && have.is(list):
			both := *have
			both.items = slices.Concat(have.items, m.value.items)
			setMember(to, m.name, &both)
		case slices.Contains(conditional, m.name):
			to.sometimes = append(to.sometimes, &node{kind: object, place: m.at, members: []member{m}})
		case m.name == "pattern" && m.value.text == export.URLPattern && to.str("format") == "uri":
			setMember(to, "format", &node{kind: text, text: "url", place: m.at}) // with a pattern of its own
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

func setMember(n *node, name string, value *node) {
	for i, m := range n.members {
		if m.name == name {
			n.members[i].value = value
		}
	}
}

// mergedProperties are the properties of two parts. For one that both have, both count; null alone,
// which a catalogue has no type for, does not.
func mergedProperties(a, b *node) *node {
	both := *a
	both.members = slices.Clone(a.members)
	for _, m := range b.members {
		switch have := both.get(m.name); {
		case have == nil:
			both.members = append(both.members, m)
		case isNull(have):
			setMember(&both, m.name, m.value)
		case !same(have, m.value) && !isNull(m.value):
			parts := &node{kind: list, place: m.at, items: []*node{have, m.value}}
			setMember(&both, m.name, &node{kind: object, place: have.place, members: []member{{"allOf", m.at, parts}}})
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
		to.members = append(to.members, m)
		return
	}
	both := slices.DeleteFunc(slices.Clone(have), func(v *node) bool {
		return !slices.ContainsFunc(theirs, func(other *node) bool { return same(v, other) })
	})
	if len(both) == 0 {
		sr.differ(m)
		return
	}
	rest := without(to, "enum", "const")
	to.members = append(rest.members, member{"enum", m.at, &node{kind: list, place: m.value.place, items: both}})
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
		setMember(to, "type", both[0])
	default:
		setMember(to, "type", &node{kind: list, place: m.value.place, items: both})
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
	a, ok := rational(have)
	b, alsoOK := rational(m.value)
	if !ok || !alsoOK {
		sr.differ(m)
		return
	}
	if tighter := b.Cmp(a); tighter > 0 && slices.Contains(leasts, m.name) || tighter < 0 && slices.Contains(mosts, m.name) {
		setMember(to, m.name, m.value)
	}
}

// same compares two values, unless they are very large: aliases of YAML can make them so.
func same(a, b *node) bool {
	left := 10_000
	var equal func(a, b *node) bool
	equal = func(a, b *node) bool {
		left--
		return left > 0 && (a == b || a.kind == b.kind && a.text == b.text &&
			slices.EqualFunc(a.items, b.items, equal) &&
			slices.EqualFunc(a.members, b.members, func(x, y member) bool { return x.name == y.name && equal(x.value, y.value) }))
	}
	return equal(a, b)
}
