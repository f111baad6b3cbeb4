package schema

import (
	"slices"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/names"
	"github.com/busgen/busgen/internal/importer/tree"
)

// Variants are what a schema can be one of.
type Variants struct {
	Key string // that tells them apart
	At  diag.Place
	All []Variant
}

type Variant struct {
	Tag    string
	At     diag.Place
	Struct Use  // a struct
	Tagged bool // it has the key among its properties
}

// A NoUnion says why alternatives are no union.
type NoUnion struct {
	Branches  *tree.Node
	At        diag.Place
	Why, Hint string
}

// FindVariants returns the variants of a schema, or why it has none; neither for a schema without
// alternatives, and for anyOf whose alternatives may hold at once.
func (sr *Reader) FindVariants(s *tree.Node) (*Variants, *NoUnion) {
	key := "oneOf"
	if s.Get(key) == nil {
		key = "anyOf"
	}
	branches := s.Get(key)
	if !branches.Is(tree.List) || len(branches.Items) == 0 {
		return nil, nil // leftovers reports it
	}
	v, no := sr.toldApart(s, key, branches)
	if no != nil && key == "anyOf" && s.Get("discriminator") == nil {
		return nil, nil
	}
	return v, no
}

// toldApart returns the variants that branches are, or why they are none.
func (sr *Reader) toldApart(s *tree.Node, key string, branches *tree.Node) (*Variants, *NoUnion) {
	v := &Variants{At: s.At(key)}
	for _, b := range branches.Items {
		one, ok := sr.branch(b)
		if !ok {
			return nil, &NoUnion{branches, b.Place, "a variant of " + key + " is not an object",
				"the variants of a union are structs"}
		}
		v.All = append(v.All, one)
	}
	if v.Key = sr.discriminator(s, v.All); v.Key == "" {
		return nil, &NoUnion{branches, v.At, "no property tells the variants of " + key + " apart",
			"give each a required property with a const of its own, or name one with discriminator"}
	}
	if !mustHave(s, v) {
		return nil, &NoUnion{branches, v.At,
			findings.Quote(v.Key) + " tells the variants of " + key + " apart, but is not required", "require it"}
	}
	taken := names.Taken{}
	var all []Variant
	for i, one := range v.All {
		var tags []string
		tags, one.Tagged = sr.tags(s, &one, branches.Items[i], v.Key)
		for _, tag := range tags {
			one.Tag = tag
			if !catalog.VariantName.MatchString(one.Tag) || taken[one.Tag] {
				return nil, &NoUnion{branches, one.At, findings.Quote(one.Tag) + " cannot be the name of a variant",
					"each variant needs a name of its own, of letters and digits with single -, _ or . between them"}
			}
			taken[one.Tag] = true
			all = append(all, one)
		}
	}
	v.All = all
	if beside := beside(s, v.Key); beside != nil {
		for i := range v.All {
			sr.addBeside(&v.All[i], beside)
		}
	}
	return v, nil
}

// beside is the schema of the properties that all variants have; nil if there are none but the
// key.
func beside(s *tree.Node, key string) *tree.Node {
	others := s.Without("properties", "oneOf", "anyOf", "discriminator")
	others.Members = slices.DeleteFunc(others.Members, func(m tree.Member) bool {
		return m.Name != "required" && m.Name != "type"
	})
	properties := s.Get("properties")
	if properties == nil || len(properties.Without(key).Members) == 0 {
		return nil
	}
	others.Add("properties", s.At("properties"), properties.Without(key))
	if required := s.Get("required"); required.Is(tree.List) {
		others.Set("required", required.WithoutText(key))
	}
	return others
}

// addBeside adds properties that all variants have. The variant is a struct of its own then.
func (sr *Reader) addBeside(v *Variant, beside *tree.Node) {
	own := v.Struct.Schema
	sr.Absorb(v.Struct.Def)
	parts := tree.NewList(own.Place, beside, own)
	v.Struct.Schema = sr.flattened(tree.NewObject(own.Place).Add("allOf", own.Place, parts))
	v.Struct.Def = nil
}

// branch is what a variant is. The parts of an allOf beside the reference may only tell variants apart.
func (sr *Reader) branch(b *tree.Node) (Variant, bool) {
	u := sr.Look(b)
	v := Variant{At: b.Place, Struct: u}
	if u.Schema.Is(tree.Object) && len(b.Get("allOf").Elements()) == 2 {
		if inner := sr.Look(b.Get("allOf").Items[0]); inner.Def != nil && onlyTags(b.Get("allOf").Items[1]) {
			v.Struct = inner
		}
	}
	s := v.Struct.Schema
	return v, s.Is(tree.Object) && (s.Str("type") == "object" || s.Get("properties") != nil) &&
		IsStruct(Use{Schema: s, Def: s}) && s.Get("oneOf") == nil
}

// onlyTags tells whether a schema only asks for one value of one property.
func onlyTags(s *tree.Node) bool {
	return s.Is(tree.Object) && len(s.Get("properties").Properties()) == 1 &&
		!slices.ContainsFunc(s.Members, func(m tree.Member) bool {
			return m.Name != "properties" && m.Name != "required" && m.Name != "type"
		})
}

// discriminator is the key by which variants are told apart; empty if there is none.
func (sr *Reader) discriminator(s *tree.Node, all []Variant) string {
	d := s.Get("discriminator")
	if d.Is(tree.Text) {
		return d.Text
	}
	if name := d.Str("propertyName"); name != "" {
		return name
	}
	if properties := s.Get("properties").Properties(); len(properties) == 1 && len(ValuesIn(properties[0].Value)) > 0 {
		return properties[0].Name
	}
	for _, p := range all[0].Struct.Schema.Get("properties").Properties() {
		seen := map[string]bool{}
		for _, v := range all {
			if tag := sr.Only(v.Struct.Schema, p.Name); tag != "" {
				seen[tag] = true
			}
		}
		if len(seen) == len(all) {
			return p.Name
		}
	}
	return ""
}

// Only is the one text that a property can be; empty if there is no such.
func (sr *Reader) Only(s *tree.Node, property string) string {
	p := s.Get("properties").Get(property)
	if p == nil {
		return ""
	}
	values, _ := Listed(sr.Look(p).Schema)
	if len(values) != 1 || values[0].JSON.Kind != tree.Text {
		return ""
	}
	return values[0].JSON.Text
}

// mustHave tells whether all values of a union have the key that tells them apart.
func mustHave(s *tree.Node, v *Variants) bool {
	if s.Get("discriminator") != nil || s.Get("required").Lists(v.Key) {
		return true
	}
	return !slices.ContainsFunc(v.All, func(one Variant) bool { return !one.Struct.Schema.Get("required").Lists(v.Key) })
}

// tags are the values by which a variant is told, and whether the variant has the key among its own properties.
func (sr *Reader) tags(s *tree.Node, v *Variant, branch *tree.Node, key string) (tags []string, tagged bool) {
	tagged = v.Struct.Schema.Get("properties").Get(key) != nil
	for _, part := range append(branch.Get("allOf").Elements(), v.Struct.Schema, branch) {
		if !part.Is(tree.Object) {
			continue
		}
		if tag := sr.Only(part, key); tag != "" {
			return []string{tag}, tagged
		}
	}
	for _, m := range s.Get("discriminator").Get("mapping").Properties() {
		if def := sr.Files.LookUp(m.Value).Schema; def != nil && def == v.Struct.Def || m.Value.Text == v.Struct.Name {
			tags = append(tags, m.Name)
		}
	}
	if tags != nil {
		return tags, tagged
	}
	if p := v.Struct.Schema.Get("properties").Get(key); p != nil {
		values, _ := Listed(sr.Look(p).Schema)
		for _, one := range values {
			if one.JSON.Is(tree.Text) {
				tags = append(tags, one.JSON.Text)
			}
		}
	}
	if tags != nil {
		return tags, tagged
	}
	return []string{v.Struct.Name}, tagged
}
