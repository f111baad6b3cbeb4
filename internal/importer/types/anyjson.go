package types

import (
	"slices"

	"github.com/busgen/busgen/internal/importer/schema"
	"github.com/busgen/busgen/internal/importer/tree"
)

// keepTypes makes types of the structs that are among the values of a schema, although its values are any JSON: their
// names stay in the catalogue, and programs can decode the JSON into them.
func (tm *Maker) keepTypes(u schema.Use, at Spot) {
	s := u.Schema
	if !s.Is(tree.Object) || tm.kept[s] {
		return
	}
	tm.kept[s] = true
	if tm.expanding[u.Def] { // what it contains may be it
		delete(tm.expanding, u.Def)
		defer func() { tm.expanding[u.Def] = true }()
	}
	if tm.schemas.Visit() < 0 {
		return
	}
	if len(s.Get("properties").Properties()) > 0 && slices.Contains(schema.KindsOf(s), "object") {
		own := s.Without("type")
		own.Add("type", s.At("type"), tree.NewText(s.Place, "object"))
		tm.objectType(schema.Use{Schema: own, Title: u.Title, Description: u.Description}, Spot{GoName: at.name()})
	}
	for _, part := range slices.Concat(s.Get("oneOf").Elements(), s.Get("anyOf").Elements(),
		s.Get("prefixItems").Elements(), s.Get("items").Elements()) {
		tm.keepType(part, at)
	}
	for _, keyword := range []string{"items", "additionalItems", "contains", "then", "else"} {
		tm.keepType(s.Get(keyword), at)
	}
	tm.keepOthers(s, at)
}

// keepOthers makes types of the values of properties that have no names, and so no fields.
func (tm *Maker) keepOthers(s *tree.Node, at Spot) {
	for _, part := range membersOf(s.Get("patternProperties")) {
		tm.keepType(part, at)
	}
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
		tm.keepType(s.Get(keyword), at)
	}
}

// keepType makes a type of what may be a struct, or contain one.
func (tm *Maker) keepType(s *tree.Node, at Spot) {
	u := tm.schemas.Look(s)
	switch n := u.Schema; {
	case !n.Is(tree.Object):
	case slices.Equal(schema.KindsOf(n), []string{"object"}) && len(n.Get("properties").Properties()) > 0 &&
		n.Get("oneOf") == nil && n.Get("anyOf") == nil:
		tm.objectType(u, Spot{GoName: at.name()})
	default:
		tm.keepTypes(u, at)
	}
}

// membersOf are the values of the members of an object.
func membersOf(n *tree.Node) (all []*tree.Node) {
	for _, m := range n.Properties() {
		all = append(all, m.Value)
	}
	return all
}
