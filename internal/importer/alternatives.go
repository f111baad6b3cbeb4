package importer

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// An alternative is one of the payloads that a schema describes.
type alternative struct {
	name    string // what the document calls it; empty if it does not
	defined bool   // it is the name of a definition
	at      diag.Place
	schema  *node
}

// A payloadFinder finds the payloads that a schema describes.
type payloadFinder struct {
	*findingList
	*schemaReader
	payloads map[*node]bool // what hasPayload has found
}

func newPayloadFinder(schemas *schemaReader) *payloadFinder {
	return &payloadFinder{schemas.findingList, schemas, map[*node]bool{}}
}

// alternatives are the payloads that a schema describes: each of oneOf and anyOf, and each of what
// if and then ask for by the value of one property. Other schemas have one, which is the schema
// itself.
func (pf *payloadFinder) alternatives(s *node) []alternative {
	return pf.expand(alternative{at: s.place, schema: s}, map[*node]bool{})
}

func (pf *payloadFinder) expand(a alternative, seen map[*node]bool) []alternative {
	u := pf.follow(a.schema)
	s := u.schema
	if a.name == "" {
		a.name, a.defined = pf.calledIn(a.schema, u)
	}
	if seen[s] {
		return nil
	}
	seen[s] = true
	if pf.visit() < 0 || !s.is(object) {
		return []alternative{a}
	}
	branches := pf.branchesOf(s)
	if branches == nil {
		return []alternative{a}
	}
	if s.get("anyOf") != nil && s.get("oneOf") == nil {
		pf.report(s.at("anyOf"), rules.ImportKeyword, "each alternative of anyOf becomes an event; a payload that is several of them at once has the fields of one")
	}
	pf.absorb(s, u.def)
	var all []alternative
	for i, b := range branches {
		if a.defined && !b.defined {
			own := snake(b.name)
			if own == "" || slices.ContainsFunc(slices.Delete(slices.Clone(branches), i, i+1), func(other alternative) bool { return other.name == b.name }) {
				own = fmt.Sprintf("variant%d", i+1)
			}
			b.name, b.defined = a.name+"."+own, true
		}
		all = append(all, pf.expand(b, seen)...)
	}
	return all
}

// branchesOf are the alternatives of a schema, each with what holds for all of them; nil if it
// has none that are payloads.
func (pf *payloadFinder) branchesOf(s *node) []alternative {
	if tagged := pf.taggedBranches(s); tagged != nil {
		return tagged
	}
	key := "oneOf"
	if s.get(key) == nil {
		key = "anyOf"
	}
	branches := s.get(key).elements()
	if values, _ := listed(s); values != nil || len(branches) < 2 || !slices.ContainsFunc(branches, pf.hasPayload) {
		return nil
	}
	if v, _ := pf.findVariants(s); v == nil && len(s.get("properties").properties()) > 0 && !pf.toldByValue(branches) {
		return nil // the struct has optional fields
	}
	base := s.without(key, "discriminator", "title", "description", "$defs", "definitions")
	var all []alternative
	for _, b := range branches {
		name, defined := pf.calledIn(b, pf.follow(b))
		all = append(all, alternative{name, defined, b.place, both(base, b)})
	}
	return all
}

// toldByValue tells whether alternatives have another value of one property each. Other than for a union, payloads may
// lack it, and it may have any text.
func (pf *payloadFinder) toldByValue(branches []*node) bool {
	for _, p := range pf.look(branches[0]).schema.get("properties").properties() {
		values := map[string]bool{}
		for _, b := range branches {
			if one := pf.only(pf.look(b).schema, p.name); one != "" {
				values[one] = true
			}
		}
		if len(values) == len(branches) {
			return true
		}
	}
	return false
}

// hasPayload tells whether a schema, or one of its alternatives, is that of a payload.
func (pf *payloadFinder) hasPayload(s *node) bool {
	s = pf.follow(s).schema
	if known, ok := pf.payloads[s]; ok {
		return known
	}
	pf.payloads[s] = false // to those that s contains
	pf.payloads[s] = isPayload(s) || s.is(object) && pf.branchesOf(s) != nil
	return pf.payloads[s]
}

// both is the schema of what two schemas are about; the second one if the first says nothing but
// that it is an object.
func both(base, s *node) *node {
	if onlySays(base, "type") && base.sometimes == nil {
		return s
	}
	parts := newList(s.place, base, s)
	return newObject(s.place).add("allOf", s.place, parts)
}

// calledIn is what the document calls a schema: by its definition, its title, or the value that
// tells it from others.
func (pf *payloadFinder) calledIn(s *node, u use) (name string, defined bool) {
	if u.def != nil && u.name != "" {
		return u.name, true
	}
	if to := s.get("$ref"); to.is(text) {
		if name := pf.lookUp(to).name; name != "" {
			return name, true
		}
	}
	if title := s.str("title"); title != "" {
		return title, false
	}
	for _, p := range u.schema.get("properties").properties() {
		if tag := pf.only(u.schema, p.name); tag != "" {
			return tag, false
		}
	}
	return "", false
}

// nameAlternatives names those that the document does not call anything, and takes what all events
// are from the others: create.event is create.
func nameAlternatives(all []alternative, base string) {
	shortenURLs(all)
	taken := names{}
	for _, a := range all {
		taken[eventName(a.name)] = true
	}
	for i := range all {
		name := eventName(all[i].name)
		short, ok := strings.CutSuffix(name, ".event")
		switch {
		case name == "":
			all[i].name = fmt.Sprintf("%s.variant%d", base, i+1)
		case ok && !taken[short]:
			all[i].name = short
			taken[short] = true
		}
	}
}

// shortenURLs takes what URLs have in common from names that are all URLs: their beginning and their ending.
func shortenURLs(all []alternative) {
	if slices.ContainsFunc(all, func(a alternative) bool { return !strings.Contains(a.name, "://") }) {
		return
	}
	folder := func(name string) string { return name[:strings.LastIndexByte(name, '/')+1] }
	start, end := folder(all[0].name), path.Ext(all[0].name)
	for _, a := range all {
		for !strings.HasPrefix(a.name, start) {
			start = folder(strings.TrimSuffix(start, "/"))
		}
		if path.Ext(a.name) != end {
			end = ""
		}
	}
	for i, a := range all {
		all[i].name = strings.TrimSuffix(strings.TrimPrefix(a.name, start), end)
	}
}

// taggedBranches are what conditions ask for if one property has one value, as in
//
//	allOf: [{ if: { properties: { type: { const: A } } }, then: { $ref: … } }, …]
//
// One more is what they ask for if the property has none of these values.
func (pf *payloadFinder) taggedBranches(s *node) []alternative {
	key, all := "", []alternative(nil)
	var tags, others, otherwise []*node // values; conditions that are something else, and those about all other values
	rest := s.without("if", "then", "else", "title", "description", "$defs", "definitions")
	rest.sometimes = nil
	for _, c := range slices.Concat(s.sometimes, ifOf(s)) {
		for ; c.get("if") != nil; c = c.get("else") {
			name, values := asksFor(c.get("if"))
			then := c.get("then")
			but, _ := asksFor(c.get("if").get("not"))
			switch {
			case but != "" && onlySays(c.get("if"), "not") && c.get("else") == nil && then != nil && pf.hasPayload(then):
				otherwise = append(otherwise, c)
			case name != "" && (key == "" || key == name) && then != nil && pf.hasPayload(then):
				key = name
				tags = append(tags, values...)
				for _, v := range values {
					all = append(all, alternative{v.text, false, c.at("then"), both(withValue(rest, name, v), then)})
				}
			default:
				others = append(others, c)
			}
		}
	}
	if len(all) < 2 {
		return nil
	}
	for _, c := range otherwise {
		name, values := asksFor(c.get("if").get("not"))
		among := func(v *node) bool {
			return slices.ContainsFunc(values, func(other *node) bool { return same(v, other) })
		}
		if name != key || len(values) != len(tags) || slices.ContainsFunc(tags, func(tag *node) bool { return !among(tag) }) {
			others = append(others, c)
			continue
		}
		called, defined := pf.calledIn(c.get("then"), pf.follow(c.get("then")))
		all = append(all, alternative{cmp.Or(called, "other"), defined, c.at("then"), both(rest, c.get("then"))})
	}
	for _, c := range others {
		pf.report(c.at("if"), rules.ImportKeyword, "%s has no counterpart in a catalogue; its conditions are left out", quoted("if")).Hint = checkWherePublished
	}
	return all
}

// asksFor is the property of which a condition wants one of some texts; empty for another
// condition.
func asksFor(condition *node) (string, []*node) {
	if !condition.is(object) {
		return "", nil
	}
	properties := condition.get("properties").properties()
	rest := condition.without("properties", "required", "type")
	if len(properties) != 1 || !onlySays(rest, "") {
		return "", nil
	}
	values := valuesIn(properties[0].value)
	if len(values) == 0 || slices.ContainsFunc(values, func(v *node) bool { return !v.is(text) }) {
		return "", nil
	}
	return properties[0].name, values
}

// withValue is a schema of which one property has one value.
func withValue(s *node, name string, v *node) *node {
	value := newObject(v.place).add("const", v.place, v)
	tag := newObject(v.place).
		add("properties", v.place, newObject(v.place).add(name, v.place, value)).
		add("required", v.place, newList(v.place, newText(v.place, name)))
	parts := newList(s.place, s, tag)
	return newObject(s.place).add("allOf", s.place, parts)
}

// divide returns the examples of each alternative. payload is that of an example.
func (pf *payloadFinder) divide(examples []*node, all []alternative, payload func(example *node) *node) [][]*node {
	of := make([][]*node, len(all))
	for _, e := range examples {
		i := slices.IndexFunc(all, func(a alternative) bool { return pf.fits(payload(e), a.schema, true) })
		if i < 0 {
			i = slices.IndexFunc(all, func(a alternative) bool { return pf.fits(payload(e), a.schema, false) })
		}
		if i < 0 {
			pf.report(e.place, rules.ImportRefused, "the example matches none of the payloads and is left out")
			continue
		}
		of[i] = append(of[i], e)
	}
	return of
}

// fits tells whether an example can be one of a payload: it has what is required, the values that
// tell payloads apart and, if known is set, no other properties.
func (pf *payloadFinder) fits(example, payload *node, known bool) bool {
	s := pf.look(payload).schema
	if !isPayload(s) || !example.is(object) {
		return false
	}
	for _, m := range example.members {
		if known && s.get("properties").get(m.name) == nil {
			return false
		}
	}
	for _, r := range s.get("required").elements() {
		if r.is(text) && example.get(r.text) == nil {
			return false
		}
	}
	for _, p := range s.get("properties").properties() {
		values, have := valuesIn(pf.look(p.value).schema), example.get(p.name)
		if have != nil && values != nil && !slices.ContainsFunc(values, func(v *node) bool { return same(v, have) }) {
			return false
		}
	}
	return true
}
