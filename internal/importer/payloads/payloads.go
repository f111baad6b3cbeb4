// Package payloads finds the payloads that a schema describes: each becomes an event.
package payloads

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/names"
	"github.com/busgen/busgen/internal/importer/schema"
	"github.com/busgen/busgen/internal/importer/tree"
)

// An Alternative is one of the payloads that a schema describes.
type Alternative struct {
	Name    string // what the document calls it; empty if it does not
	defined bool   // it is the name of a definition
	At      diag.Place
	Schema  *tree.Node
}

// A Finder finds the payloads that a schema describes.
type Finder struct {
	*findings.List
	schemas  *schema.Reader
	payloads map[*tree.Node]bool // what hasPayload has found
}

// New returns a finder of payloads.
func New(schemas *schema.Reader) *Finder {
	return &Finder{schemas.List, schemas, map[*tree.Node]bool{}}
}

// Of are the payloads that a schema describes: each of oneOf and anyOf, and each of what
// if and then ask for by the value of one property. Other schemas have one, which is the schema
// itself.
func (pf *Finder) Of(s *tree.Node) []Alternative {
	return pf.expand(Alternative{At: s.Place, Schema: s}, map[*tree.Node]bool{})
}

func (pf *Finder) expand(a Alternative, seen map[*tree.Node]bool) []Alternative {
	u := pf.schemas.Follow(a.Schema)
	s := u.Schema
	if a.Name == "" {
		a.Name, a.defined = pf.calledIn(a.Schema, u)
	}
	if seen[s] {
		return nil
	}
	seen[s] = true
	if pf.schemas.Visit() < 0 || !s.Is(tree.Object) {
		return []Alternative{a}
	}
	branches := pf.branchesOf(s)
	if branches == nil {
		return []Alternative{a}
	}
	if s.Get("anyOf") != nil && s.Get("oneOf") == nil {
		pf.Report(s.At("anyOf"), rules.ImportKeyword,
			"each alternative of anyOf becomes an event; a payload that is several of them at once has the fields of one")
	}
	pf.schemas.Absorb(s, u.Def)
	var all []Alternative
	for i, b := range branches {
		if a.defined && !b.defined {
			own := names.Snake(b.Name)
			if own == "" || slices.ContainsFunc(slices.Delete(slices.Clone(branches), i, i+1), func(other Alternative) bool {
				return other.Name == b.Name
			}) {
				own = fmt.Sprintf("variant%d", i+1)
			}
			b.Name, b.defined = a.Name+"."+own, true
		}
		all = append(all, pf.expand(b, seen)...)
	}
	return all
}

// branchesOf are the alternatives of a schema, each with what holds for all of them; nil if it
// has none that are payloads.
func (pf *Finder) branchesOf(s *tree.Node) []Alternative {
	if tagged := pf.taggedBranches(s); tagged != nil {
		return tagged
	}
	key := "oneOf"
	if s.Get(key) == nil {
		key = "anyOf"
	}
	branches := s.Get(key).Elements()
	if values, _ := schema.Listed(s); values != nil || len(branches) < 2 || !slices.ContainsFunc(branches, pf.hasPayload) {
		return nil
	}
	if v, _ := pf.schemas.FindVariants(s); v == nil && len(s.Get("properties").Properties()) > 0 &&
		!pf.toldByValue(branches) {
		return nil // the struct has optional fields
	}
	base := s.Without(key, "discriminator", "title", "description", "$defs", "definitions")
	var all []Alternative
	for _, b := range branches {
		name, defined := pf.calledIn(b, pf.schemas.Follow(b))
		all = append(all, Alternative{name, defined, b.Place, both(base, b)})
	}
	return all
}

// toldByValue tells whether alternatives have another value of one property each. Other than for a union, payloads may
// lack it, and it may have any text.
func (pf *Finder) toldByValue(branches []*tree.Node) bool {
	for _, p := range pf.schemas.Look(branches[0]).Schema.Get("properties").Properties() {
		values := map[string]bool{}
		for _, b := range branches {
			if one := pf.schemas.Only(pf.schemas.Look(b).Schema, p.Name); one != "" {
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
func (pf *Finder) hasPayload(s *tree.Node) bool {
	s = pf.schemas.Follow(s).Schema
	if known, ok := pf.payloads[s]; ok {
		return known
	}
	pf.payloads[s] = false // to those that s contains
	pf.payloads[s] = schema.IsPayload(s) || s.Is(tree.Object) && pf.branchesOf(s) != nil
	return pf.payloads[s]
}

// both is the schema of what two schemas are about; the second one if the first says nothing but
// that it is an object.
func both(base, s *tree.Node) *tree.Node {
	if schema.OnlySays(base, "type") && base.Sometimes == nil {
		return s
	}
	parts := tree.NewList(s.Place, base, s)
	return tree.NewObject(s.Place).Add("allOf", s.Place, parts)
}

// calledIn is what the document calls a schema: by its definition, its title, or the value that
// tells it from others.
func (pf *Finder) calledIn(s *tree.Node, u schema.Use) (name string, defined bool) {
	if u.Def != nil && u.Name != "" {
		return u.Name, true
	}
	if to := s.Get("$ref"); to.Is(tree.Text) {
		if name := pf.schemas.Files.LookUp(to).Name; name != "" {
			return name, true
		}
	}
	if title := s.Str("title"); title != "" {
		return title, false
	}
	for _, p := range u.Schema.Get("properties").Properties() {
		if tag := pf.schemas.Only(u.Schema, p.Name); tag != "" {
			return tag, false
		}
	}
	return "", false
}

// Name names those that the document does not call anything, and takes what all events
// are from the others: create.event is create.
func Name(all []Alternative, base string) {
	shortenURLs(all)
	taken := names.Taken{}
	for _, a := range all {
		taken[names.Event(a.Name)] = true
	}
	for i := range all {
		name := names.Event(all[i].Name)
		short, ok := strings.CutSuffix(name, ".event")
		switch {
		case name == "":
			all[i].Name = fmt.Sprintf("%s.variant%d", base, i+1)
		case ok && !taken[short]:
			all[i].Name = short
			taken[short] = true
		}
	}
}

// shortenURLs takes what URLs have in common from names that are all URLs: their beginning and their ending.
func shortenURLs(all []Alternative) {
	if slices.ContainsFunc(all, func(a Alternative) bool { return !strings.Contains(a.Name, "://") }) {
		return
	}
	folder := func(name string) string { return name[:strings.LastIndexByte(name, '/')+1] }
	start, end := folder(all[0].Name), path.Ext(all[0].Name)
	for _, a := range all {
		for !strings.HasPrefix(a.Name, start) {
			start = folder(strings.TrimSuffix(start, "/"))
		}
		if path.Ext(a.Name) != end {
			end = ""
		}
	}
	for i, a := range all {
		all[i].Name = strings.TrimSuffix(strings.TrimPrefix(a.Name, start), end)
	}
}

// taggedBranches are what conditions ask for if one property has one value, as in
//
//	allOf: [{ if: { properties: { type: { const: A } } }, then: { $ref: … } }, …]
//
// One more is what they ask for if the property has none of these values.
func (pf *Finder) taggedBranches(s *tree.Node) []Alternative {
	key, all := "", []Alternative(nil)
	// Values; conditions that are something else, and those about all other values.
	var tags, others, otherwise []*tree.Node
	rest := s.Without("if", "then", "else", "title", "description", "$defs", "definitions")
	rest.Sometimes = nil
	for _, c := range slices.Concat(s.Sometimes, schema.IfOf(s)) {
		for ; c.Get("if") != nil; c = c.Get("else") {
			name, values := asksFor(c.Get("if"))
			then := c.Get("then")
			but, _ := asksFor(c.Get("if").Get("not"))
			switch {
			case but != "" && schema.OnlySays(c.Get("if"), "not") && c.Get("else") == nil && then != nil && pf.hasPayload(then):
				otherwise = append(otherwise, c)
			case name != "" && (key == "" || key == name) && then != nil && pf.hasPayload(then):
				key = name
				tags = append(tags, values...)
				for _, v := range values {
					all = append(all, Alternative{v.Text, false, c.At("then"), both(withValue(rest, name, v), then)})
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
		name, values := asksFor(c.Get("if").Get("not"))
		among := func(v *tree.Node) bool {
			return slices.ContainsFunc(values, func(other *tree.Node) bool { return tree.Same(v, other) })
		}
		if name != key || len(values) != len(tags) || slices.ContainsFunc(tags, func(tag *tree.Node) bool {
			return !among(tag)
		}) {
			others = append(others, c)
			continue
		}
		called, defined := pf.calledIn(c.Get("then"), pf.schemas.Follow(c.Get("then")))
		all = append(all, Alternative{cmp.Or(called, "other"), defined, c.At("then"), both(rest, c.Get("then"))})
	}
	for _, c := range others {
		pf.Report(c.At("if"), rules.ImportKeyword, "%s has no counterpart in a catalogue; its conditions are left out",
			findings.Quote("if")).Hint = schema.CheckWherePublished
	}
	return all
}

// asksFor is the property of which a condition wants one of some texts; empty for another
// condition.
func asksFor(condition *tree.Node) (string, []*tree.Node) {
	if !condition.Is(tree.Object) {
		return "", nil
	}
	properties := condition.Get("properties").Properties()
	rest := condition.Without("properties", "required", "type")
	if len(properties) != 1 || !schema.OnlySays(rest, "") {
		return "", nil
	}
	values := schema.ValuesIn(properties[0].Value)
	if len(values) == 0 || slices.ContainsFunc(values, func(v *tree.Node) bool { return !v.Is(tree.Text) }) {
		return "", nil
	}
	return properties[0].Name, values
}

// withValue is a schema of which one property has one value.
func withValue(s *tree.Node, name string, v *tree.Node) *tree.Node {
	value := tree.NewObject(v.Place).Add("const", v.Place, v)
	tag := tree.NewObject(v.Place).
		Add("properties", v.Place, tree.NewObject(v.Place).Add(name, v.Place, value)).
		Add("required", v.Place, tree.NewList(v.Place, tree.NewText(v.Place, name)))
	parts := tree.NewList(s.Place, s, tag)
	return tree.NewObject(s.Place).Add("allOf", s.Place, parts)
}

// Divide returns the examples of each alternative. payload is that of an example.
func (pf *Finder) Divide(examples []*tree.Node, all []Alternative,
	payload func(example *tree.Node) *tree.Node) [][]*tree.Node {
	of := make([][]*tree.Node, len(all))
	for _, e := range examples {
		i := slices.IndexFunc(all, func(a Alternative) bool { return pf.fits(payload(e), a.Schema, true) })
		if i < 0 {
			i = slices.IndexFunc(all, func(a Alternative) bool { return pf.fits(payload(e), a.Schema, false) })
		}
		if i < 0 {
			pf.Report(e.Place, rules.ImportRefused, "the example matches none of the payloads and is left out")
			continue
		}
		of[i] = append(of[i], e)
	}
	return of
}

// fits tells whether an example can be one of a payload: it has what is required, the values that
// tell payloads apart and, if known is set, no other properties.
func (pf *Finder) fits(example, payload *tree.Node, known bool) bool {
	s := pf.schemas.Look(payload).Schema
	if !schema.IsPayload(s) || !example.Is(tree.Object) {
		return false
	}
	for _, m := range example.Members {
		if known && s.Get("properties").Get(m.Name) == nil {
			return false
		}
	}
	for _, r := range s.Get("required").Elements() {
		if r.Is(tree.Text) && example.Get(r.Text) == nil {
			return false
		}
	}
	for _, p := range s.Get("properties").Properties() {
		values, have := schema.ValuesIn(pf.schemas.Look(p.Value).Schema), example.Get(p.Name)
		if have != nil && values != nil &&
			!slices.ContainsFunc(values, func(v *tree.Node) bool { return tree.Same(v, have) }) {
			return false
		}
	}
	return true
}
