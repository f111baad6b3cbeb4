package importer

import "slices"

// keepTypes makes types of the structs that are among the values of a schema, although its values are any JSON: their
// names stay in the catalogue, and programs can decode the JSON into them.
func (im *importer) keepTypes(u use, at spot) {
	s := u.schema
	if !s.is(object) || im.kept[s] {
		return
	}
	im.kept[s] = true
	if im.expanding[u.def] { // what it contains may be it
		delete(im.expanding, u.def)
		defer func() { im.expanding[u.def] = true }()
	}
	if im.schemas++; im.schemas > im.maxSchemas() {
		return
	}
	if len(s.get("properties").properties()) > 0 && slices.Contains(kindsOf(s), "object") {
		own := without(s, "type")
		own.members = append(own.members, member{"type", s.at("type"), &node{kind: text, text: "object", place: s.place}})
		im.objectType(use{schema: own, title: u.title, description: u.description}, spot{goName: at.name()})
	}
	for _, part := range slices.Concat(s.get("oneOf").elements(), s.get("anyOf").elements(), s.get("prefixItems").elements(), s.get("items").elements()) {
		im.keepType(part, at)
	}
	for _, keyword := range []string{"items", "additionalItems", "contains", "then", "else"} {
		im.keepType(s.get(keyword), at)
	}
	im.keepOthers(s, at)
}

// keepOthers makes types of the values of properties that have no names, and so no fields.
func (im *importer) keepOthers(s *node, at spot) {
	for _, part := range membersOf(s.get("patternProperties")) {
		im.keepType(part, at)
	}
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
		im.keepType(s.get(keyword), at)
	}
}

// keepType makes a type of what may be a struct, or contain one.
func (im *importer) keepType(s *node, at spot) {
	u := im.look(s)
	switch n := u.schema; {
	case !n.is(object):
	case slices.Equal(kindsOf(n), []string{"object"}) && len(n.get("properties").properties()) > 0 && n.get("oneOf") == nil && n.get("anyOf") == nil:
		im.objectType(u, spot{goName: at.name()})
	default:
		im.keepTypes(u, at)
	}
}

// membersOf are the values of the members of an object.
func membersOf(n *node) (all []*node) {
	for _, m := range n.properties() {
		all = append(all, m.value)
	}
	return all
}
