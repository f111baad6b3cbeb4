package importer

import "slices"

// keepTypes makes types of the structs that are among the values of a schema, although its values are any JSON: their
// names stay in the catalogue, and programs can decode the JSON into them.
func (tm *typeMaker) keepTypes(u use, at spot) {
	s := u.schema
	if !s.is(object) || tm.kept[s] {
		return
	}
	tm.kept[s] = true
	if tm.expanding[u.def] { // what it contains may be it
		delete(tm.expanding, u.def)
		defer func() { tm.expanding[u.def] = true }()
	}
	if tm.visit() < 0 {
		return
	}
	if len(s.get("properties").properties()) > 0 && slices.Contains(kindsOf(s), "object") {
		own := s.without("type")
		own.add("type", s.at("type"), newText(s.place, "object"))
		tm.objectType(use{schema: own, title: u.title, description: u.description}, spot{goName: at.name()})
	}
	for _, part := range slices.Concat(s.get("oneOf").elements(), s.get("anyOf").elements(), s.get("prefixItems").elements(), s.get("items").elements()) {
		tm.keepType(part, at)
	}
	for _, keyword := range []string{"items", "additionalItems", "contains", "then", "else"} {
		tm.keepType(s.get(keyword), at)
	}
	tm.keepOthers(s, at)
}

// keepOthers makes types of the values of properties that have no names, and so no fields.
func (tm *typeMaker) keepOthers(s *node, at spot) {
	for _, part := range membersOf(s.get("patternProperties")) {
		tm.keepType(part, at)
	}
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
		tm.keepType(s.get(keyword), at)
	}
}

// keepType makes a type of what may be a struct, or contain one.
func (tm *typeMaker) keepType(s *node, at spot) {
	u := tm.look(s)
	switch n := u.schema; {
	case !n.is(object):
	case slices.Equal(kindsOf(n), []string{"object"}) && len(n.get("properties").properties()) > 0 && n.get("oneOf") == nil && n.get("anyOf") == nil:
		tm.objectType(u, spot{goName: at.name()})
	default:
		tm.keepTypes(u, at)
	}
}

// membersOf are the values of the members of an object.
func membersOf(n *node) (all []*node) {
	for _, m := range n.properties() {
		all = append(all, m.value)
	}
	return all
}
