package importer

import (
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// variants are what a schema can be one of.
type variants struct {
	key string // that tells them apart
	at  diag.Place
	all []variant
}

type variant struct {
	tag    string
	at     diag.Place
	struc  use  // a struct
	tagged bool // it has the key among its properties
}

// unionKeywords are those that a union may have.
var unionKeywords = []string{"oneOf", "anyOf", "discriminator", "type", "properties", "required"}

// variantsOf returns the variants of a schema; nil if it is no union, and after a
// finding for one that a catalogue cannot have.
func (tm *typeMaker) variantsOf(s *node) *variants {
	v, no := tm.findVariants(s)
	switch {
	case no != nil && !tm.refused[no.branches]:
		tm.refused[no.branches] = true
		tm.report(no.at, rules.ImportUnion, "%s; the field takes any JSON", no.why).Hint = no.hint
		return nil
	case v == nil:
		return nil
	}
	if tm.fieldName(v.key, v.at, newFieldNames(nil)) == "" {
		return nil
	}
	return v
}

// A noUnion says why alternatives are no union.
type noUnion struct {
	branches  *node
	at        diag.Place
	why, hint string
}

// findVariants returns the variants of a schema, or why it has none; neither for a schema without
// alternatives, and for anyOf whose alternatives may hold at once.
func (sr *schemaReader) findVariants(s *node) (*variants, *noUnion) {
	key := "oneOf"
	if s.get(key) == nil {
		key = "anyOf"
	}
	branches := s.get(key)
	if !branches.is(list) || len(branches.items) == 0 {
		return nil, nil // leftovers reports it
	}
	v, no := sr.toldApart(s, key, branches)
	if no != nil && key == "anyOf" && s.get("discriminator") == nil {
		return nil, nil
	}
	return v, no
}

// toldApart returns the variants that branches are, or why they are none.
func (sr *schemaReader) toldApart(s *node, key string, branches *node) (*variants, *noUnion) {
	v := &variants{at: s.at(key)}
	for _, b := range branches.items {
		one, ok := sr.branch(b)
		if !ok {
			return nil, &noUnion{branches, b.place, "a variant of " + key + " is not an object", "the variants of a union are structs"}
		}
		v.all = append(v.all, one)
	}
	if v.key = sr.discriminator(s, v.all); v.key == "" {
		return nil, &noUnion{branches, v.at, "no property tells the variants of " + key + " apart",
			"give each a required property with a const of its own, or name one with discriminator"}
	}
	if !mustHave(s, v) {
		return nil, &noUnion{branches, v.at, quoted(v.key) + " tells the variants of " + key + " apart, but is not required", "require it"}
	}
	taken := names{}
	var all []variant
	for i, one := range v.all {
		var tags []string
		tags, one.tagged = sr.tags(s, &one, branches.items[i], v.key)
		for _, tag := range tags {
			one.tag = tag
			if !catalog.VariantName.MatchString(one.tag) || taken[one.tag] {
				return nil, &noUnion{branches, one.at, quoted(one.tag) + " cannot be the name of a variant",
					"each variant needs a name of its own, of letters and digits with single -, _ or . between them"}
			}
			taken[one.tag] = true
			all = append(all, one)
		}
	}
	v.all = all
	if beside := beside(s, v.key); beside != nil {
		for i := range v.all {
			sr.addBeside(&v.all[i], beside)
		}
	}
	return v, nil
}

// beside is the schema of the properties that all variants have; nil if there are none but the
// key.
func beside(s *node, key string) *node {
	others := s.without("properties", "oneOf", "anyOf", "discriminator")
	others.members = slices.DeleteFunc(others.members, func(m member) bool { return m.name != "required" && m.name != "type" })
	properties := s.get("properties")
	if properties == nil || len(properties.without(key).members) == 0 {
		return nil
	}
	others.add("properties", s.at("properties"), properties.without(key))
	if required := s.get("required"); required.is(list) {
		others.set("required", required.withoutText(key))
	}
	return others
}

// addBeside adds properties that all variants have. The variant is a struct of its own then.
func (sr *schemaReader) addBeside(v *variant, beside *node) {
	own := v.struc.schema
	sr.absorb(v.struc.def)
	parts := newList(own.place, beside, own)
	v.struc.schema = sr.flattened(newObject(own.place).add("allOf", own.place, parts))
	v.struc.def = nil
}

// branch is what a variant is. What stands in an allOf beside the reference may only tell
// variants apart.
func (sr *schemaReader) branch(b *node) (variant, bool) {
	u := sr.look(b)
	v := variant{at: b.place, struc: u}
	if u.schema.is(object) && len(b.get("allOf").elements()) == 2 {
		if inner := sr.look(b.get("allOf").items[0]); inner.def != nil && onlyTags(b.get("allOf").items[1]) {
			v.struc = inner
		}
	}
	s := v.struc.schema
	return v, s.is(object) && (s.str("type") == "object" || s.get("properties") != nil) && isStruct(use{schema: s, def: s}) && s.get("oneOf") == nil
}

// onlyTags tells whether a schema only asks for one value of one property.
func onlyTags(s *node) bool {
	return s.is(object) && len(s.get("properties").properties()) == 1 &&
		!slices.ContainsFunc(s.members, func(m member) bool { return m.name != "properties" && m.name != "required" && m.name != "type" })
}

// discriminator is the key by which variants are told apart; empty if there is none.
func (sr *schemaReader) discriminator(s *node, all []variant) string {
	d := s.get("discriminator")
	if d.is(text) {
		return d.text
	}
	if name := d.str("propertyName"); name != "" {
		return name
	}
	if properties := s.get("properties").properties(); len(properties) == 1 && len(valuesIn(properties[0].value)) > 0 {
		return properties[0].name
	}
	for _, p := range all[0].struc.schema.get("properties").properties() {
		seen := map[string]bool{}
		for _, v := range all {
			if tag := sr.only(v.struc.schema, p.name); tag != "" {
				seen[tag] = true
			}
		}
		if len(seen) == len(all) {
			return p.name
		}
	}
	return ""
}

// only is the one text that a property can be; empty if there is no such.
func (sr *schemaReader) only(s *node, property string) string {
	p := s.get("properties").get(property)
	if p == nil {
		return ""
	}
	values, _ := listed(sr.look(p).schema)
	if len(values) != 1 || values[0].json.kind != text {
		return ""
	}
	return values[0].json.text
}

// mustHave tells whether all values of a union have the key that tells them apart.
func mustHave(s *node, v *variants) bool {
	if s.get("discriminator") != nil || requires(s, v.key) {
		return true
	}
	return !slices.ContainsFunc(v.all, func(one variant) bool { return !requires(one.struc.schema, v.key) })
}

func requires(s *node, property string) bool {
	return slices.ContainsFunc(s.get("required").elements(), func(r *node) bool { return r.is(text) && r.text == property })
}

// tags are the values by which a variant is told, and whether the variant has the key among its own properties.
func (sr *schemaReader) tags(s *node, v *variant, branch *node, key string) (tags []string, tagged bool) {
	tagged = v.struc.schema.get("properties").get(key) != nil
	for _, part := range append(branch.get("allOf").elements(), v.struc.schema, branch) {
		if !part.is(object) {
			continue
		}
		if tag := sr.only(part, key); tag != "" {
			return []string{tag}, tagged
		}
	}
	for _, m := range s.get("discriminator").get("mapping").properties() {
		if def := sr.lookUp(m.value).schema; def != nil && def == v.struc.def || m.value.text == v.struc.name {
			tags = append(tags, m.name)
		}
	}
	if tags != nil {
		return tags, tagged
	}
	if p := v.struc.schema.get("properties").get(key); p != nil {
		values, _ := listed(sr.look(p).schema)
		for _, one := range values {
			if one.json.is(text) {
				tags = append(tags, one.json.text)
			}
		}
	}
	if tags != nil {
		return tags, tagged
	}
	return []string{v.struc.name}, tagged
}

// union is the body of a union.
func (tm *typeMaker) union(u use, v *variants, name string) *yaml.Node {
	body := mapping()
	tm.say(body, u, saying{name: name})
	if v.key != "type" {
		tm.add(body, "discriminator", textNode(v.key), v.at)
	}
	oneOf := mapping()
	used := map[string]bool{}
	for _, one := range v.all {
		tm.add(oneOf, one.tag, tm.variant(one, v.key, name, used), one.at)
	}
	tm.add(body, "one_of", oneOf, v.at)
	tm.leftovers(u.schema, unionKeywords...)
	return body
}

// variant is the name of a struct or, if that has the key or is another variant
// already, a struct in place.
func (tm *typeMaker) variant(v variant, key, union string, used map[string]bool) *yaml.Node {
	if v.struc.def != nil && !v.tagged {
		t := tm.objectType(v.struc, spot{goName: union, field: v.tag})
		if !used[t.text] {
			used[t.text] = true
			return textNode(t.text)
		}
	}
	tm.absorb(v.struc.def)
	s := v.struc.schema
	if properties := s.get("properties"); properties != nil && v.tagged {
		s = s.without("properties")
		s.add("properties", v.at, properties.without(key))
		if required := s.get("required"); required.is(list) {
			s.set("required", required.withoutText(key))
		}
	}
	body := mapping()
	tm.say(body, v.struc, saying{name: v.tag})
	tm.inPlace++
	tm.add(body, "fields", tm.fields(s, union+catalog.GoName(v.tag)), v.at)
	tm.inPlace--
	return body
}
