package importer

import (
	"slices"
)

// flattened makes one schema of a schema and its allOf.
func (im *importer) flattened(s *node) *node {
	if f := im.flat[s]; f != nil {
		return f
	}
	f := without(s, "allOf")
	im.flat[s] = f
	for _, part := range s.get("allOf").items {
		u := im.look(part)
		if u.def != nil {
			im.absorbed[u.def] = true
		}
		if u.schema.is(object) && u.schema != f {
			im.merge(f, u.schema)
		}
	}
	return f
}

// merge adds the keywords of a part.
func (im *importer) merge(to, part *node) {
	for _, m := range part.members {
		have := to.get(m.name)
		switch {
		case slices.Contains(sayingKeywords, m.name) && m.name != "description", m.name == "discriminator":
		case have == nil:
			to.members = append(to.members, m)
		case m.name == "properties" && have.is(object):
			setMember(to, m.name, im.mergedProperties(have, m.value))
		case m.name == "required" && have.is(list):
			both := *have
			both.items = slices.Concat(have.items, m.value.items)
			setMember(to, m.name, &both)
		case m.name == "description", same(have, m.value):
		default:
			im.report(m.at, RuleKeyword, "parts of allOf have different %s; the first one counts", quoted(m.name))
		}
	}
}

func setMember(n *node, name string, value *node) {
	for i, m := range n.members {
		if m.name == name {
			n.members[i].value = value
		}
	}
}

func (im *importer) mergedProperties(a, b *node) *node {
	both := *a
	both.members = slices.Clone(a.members)
	for _, m := range b.members {
		switch have := both.get(m.name); {
		case have == nil:
			both.members = append(both.members, m)
		case !same(have, m.value):
			im.report(m.at, RuleKeyword, "parts of allOf describe the property %s in different ways; the first one counts", quoted(m.name))
		}
	}
	return &both
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
