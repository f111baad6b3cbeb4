package schema

import (
	"slices"

	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/importer/tree"
)

// commonType makes one schema of alternatives whose values are all of the same JSON type, or of
// integers and numbers; nil for others. Objects are none of these: they may be a union.
func (sr *Reader) commonType(s *tree.Node) *Use {
	if known, ok := sr.commons[s]; ok {
		return known
	}
	sr.commons[s] = nil // to those that s contains
	key := "anyOf"
	if s.Get(key) == nil {
		key = "oneOf"
	}
	branches := s.Get(key).Elements()
	if values, _ := Listed(s); values != nil || len(branches) < 2 || IsEither(s, "ipv4", "ipv6") {
		return nil
	}
	kind := s.Str("type")
	nullable, allListed := false, true
	var values, items []*tree.Node
	for _, b := range branches {
		u := sr.Look(b)
		if !u.Schema.Is(tree.Object) || len(u.Schema.Sometimes) > 0 {
			return nil
		}
		kinds := KindsOf(u.Schema)
		switch {
		case len(kinds) != 1 || kinds[0] == "object":
			return nil
		case kind == "", kind == "integer" && kinds[0] == "number":
			kind = kinds[0]
		case kind != kinds[0] && !(kind == "number" && kinds[0] == "integer"):
			return nil
		}
		nullable = nullable || u.Nullable
		allListed = allListed && len(ValuesIn(u.Schema)) > 0
		values = append(values, ValuesIn(u.Schema)...)
		items = append(items, ItemsOf(u.Schema))
	}
	common := s.Without(key, "type")
	common.Add("type", s.At(key), tree.NewText(s.Place, kind))
	switch {
	case allListed:
		common.Add("enum", s.At(key), tree.NewList(s.Place, values...))
	default:
		if kind == "array" && !slices.Contains(items, nil) {
			either := tree.NewObject(s.Place).Add("anyOf", s.At(key), tree.NewList(s.Place, items...))
			common.Add("items", s.At(key), either)
		}
		sr.Report(s.At(key), rules.ImportKeyword,
			"the alternatives of %s are of one type, %s, with different constraints, which are left out", key, kind).
			Hint = CheckWherePublished
	}
	sr.commons[s] = &Use{Schema: common, Nullable: nullable}
	return sr.commons[s]
}
