package importer

import (
	"slices"

	"github.com/busgen/busgen/internal/diag/rules"
)

// commonType makes one schema of alternatives whose values are all of the same JSON type, or of
// integers and numbers; nil for others. Objects are none of these: they may be a union.
func (sr *schemaReader) commonType(s *node) *use {
	if known, ok := sr.commons[s]; ok {
		return known
	}
	sr.commons[s] = nil // to those that s contains
	key := "anyOf"
	if s.get(key) == nil {
		key = "oneOf"
	}
	branches := s.get(key).elements()
	if values, _ := listed(s); values != nil || len(branches) < 2 || isEither(s, "ipv4", "ipv6") {
		return nil
	}
	kind := s.str("type")
	nullable, allListed := false, true
	var values, items []*node
	for _, b := range branches {
		u := sr.look(b)
		if !u.schema.is(object) || len(u.schema.sometimes) > 0 {
			return nil
		}
		kinds := kindsOf(u.schema)
		switch {
		case len(kinds) != 1 || kinds[0] == "object":
			return nil
		case kind == "", kind == "integer" && kinds[0] == "number":
			kind = kinds[0]
		case kind != kinds[0] && !(kind == "number" && kinds[0] == "integer"):
			return nil
		}
		nullable = nullable || u.nullable
		allListed = allListed && len(valuesIn(u.schema)) > 0
		values = append(values, valuesIn(u.schema)...)
		items = append(items, itemsOf(u.schema))
	}
	common := s.without(key, "type")
	common.add("type", s.at(key), newText(s.place, kind))
	switch {
	case allListed:
		common.add("enum", s.at(key), newList(s.place, values...))
	default:
		if kind == "array" && !slices.Contains(items, nil) {
			either := newObject(s.place).add("anyOf", s.at(key), newList(s.place, items...))
			common.add("items", s.at(key), either)
		}
		sr.report(s.at(key), rules.ImportKeyword, "the alternatives of %s are of one type, %s, with different constraints, which are left out", key, kind).
			Hint = checkWherePublished
	}
	sr.commons[s] = &use{schema: common, nullable: nullable}
	return sr.commons[s]
}
