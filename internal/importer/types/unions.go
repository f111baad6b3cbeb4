package types

import (
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/importer/draft"
	"github.com/busgen/busgen/internal/importer/schema"
	"github.com/busgen/busgen/internal/importer/tree"
)

// unionKeywords are those that a union may have.
var unionKeywords = []string{"oneOf", "anyOf", "discriminator", "type", "properties", "required"}

// variantsOf returns the variants of a schema; nil if it is no union, and after a
// finding for one that a catalogue cannot have.
func (tm *Maker) variantsOf(s *tree.Node) *schema.Variants {
	v, no := tm.schemas.FindVariants(s)
	switch {
	case no != nil && !tm.refused[no.Branches]:
		tm.refused[no.Branches] = true
		tm.Report(no.At, rules.ImportUnion, "%s; the field takes any JSON", no.Why).Hint = no.Hint
		return nil
	case v == nil:
		return nil
	}
	if tm.fieldName(v.Key, v.At, newFieldNames(nil)) == "" {
		return nil
	}
	return v
}

// union is the body of a union.
func (tm *Maker) union(u schema.Use, v *schema.Variants, name string) *yaml.Node {
	body := draft.Mapping()
	tm.Say(body, u, Saying{Name: name})
	if v.Key != "type" {
		tm.catalogue.Add(body, "discriminator", draft.Text(v.Key), v.At)
	}
	oneOf := draft.Mapping()
	used := map[string]bool{}
	for _, one := range v.All {
		tm.catalogue.Add(oneOf, one.Tag, tm.variant(one, v.Key, name, used), one.At)
	}
	tm.catalogue.Add(body, "one_of", oneOf, v.At)
	tm.leftovers(u.Schema, unionKeywords...)
	return body
}

// variant is the name of a struct or, if that has the key or is another variant
// already, a struct in place.
func (tm *Maker) variant(v schema.Variant, key, union string, used map[string]bool) *yaml.Node {
	if v.Struct.Def != nil && !v.Tagged {
		t := tm.objectType(v.Struct, Spot{GoName: union, Field: v.Tag})
		if !used[t.Text] {
			used[t.Text] = true
			return draft.Text(t.Text)
		}
	}
	tm.schemas.Absorb(v.Struct.Def)
	s := v.Struct.Schema
	if properties := s.Get("properties"); properties != nil && v.Tagged {
		s = s.Without("properties")
		s.Add("properties", v.At, properties.Without(key))
		if required := s.Get("required"); required.Is(tree.List) {
			s.Set("required", required.WithoutText(key))
		}
	}
	body := draft.Mapping()
	tm.Say(body, v.Struct, Saying{Name: v.Tag})
	tm.inPlace++
	tm.catalogue.Add(body, "fields", tm.Fields(s, union+catalog.GoName(v.Tag)), v.At)
	tm.inPlace--
	return body
}
