// Package draft has a [Catalogue] that is being made, as YAML. It owns its sections, the names that fields have in
// JSON, and what of the document each entry was made of.
package draft

import (
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/edit"
	"github.com/busgen/busgen/internal/importer/findings"
)

// maxRepairs is how often the catalogue may be read.
const maxRepairs = 60

// A Catalogue is a catalogue that is being made.
type Catalogue struct {
	*findings.List
	pkg   string     // of the generated code
	whole diag.Place // of the document
	max   int        // parts that one value of the document may have

	// The sections: what is declared, by name. Empty ones are not written.
	Events, Schedules, Limits, Headers, Policies, Subscriptions *yaml.Node

	types  []*Type
	keys   []fieldKey                // all fields
	places map[*yaml.Node]diag.Place // what of the document a key or an item of the catalogue was made of
}

// A Type is an entry of types.
type Type struct {
	Name string
	at   diag.Place
	Body *yaml.Node
}

// New returns a catalogue without entries. whole is the place of the document.
func New(findings *findings.List, pkg string, whole diag.Place, max int) *Catalogue {
	return &Catalogue{
		List: findings, pkg: pkg, whole: whole, max: max,
		Events: Mapping(), Schedules: Mapping(), Limits: Mapping(), Headers: Mapping(), Policies: Mapping(),
		Subscriptions: Mapping(), places: map[*yaml.Node]diag.Place{},
	}
}

// NewType adds a type, which has no body yet.
func (dr *Catalogue) NewType(name string, at diag.Place) *Type {
	t := &Type{Name: name, at: at}
	dr.types = append(dr.types, t)
	return t
}

// Bytes writes the catalogue. Parts that its reader refuses, such as a default that does not
// fit a pattern, are taken out and reported where they came from; nil if no event is left.
func (dr *Catalogue) Bytes() []byte {
	if len(dr.Events.Content) == 0 {
		return nil
	}
	root := dr.document()
	for range maxRepairs {
		source := encode(root)
		_, findings := parse.Text("", source)
		if findings == nil {
			return dr.formatted(root)
		}
		m := repairer{Catalogue: dr, root: root, gone: map[*yaml.Node]bool{}}
		m.spots(source)
		for _, f := range findings {
			m.repair(f)
		}
		if events := Get(root, "events"); events == nil || len(events.Content) == 0 {
			return nil
		}
	}
	dr.Report(dr.whole, rules.ImportDocument,
		"the document cannot be turned into a valid catalogue, even without some of its parts")
	return nil
}

// document puts the catalogue together.
func (dr *Catalogue) document() *yaml.Node {
	root := Mapping()
	Set(root, "version", Plain("1"))
	Set(root, "package", Text(dr.pkg))
	dr.nameInJSON(root)
	types := Mapping()
	slices.SortStableFunc(dr.types, func(a, b *Type) int { return dr.Compare(a.at, b.at) })
	for _, t := range dr.types {
		dr.Add(types, t.Name, t.Body, t.at)
	}
	for _, section := range []struct {
		name    string
		entries *yaml.Node
	}{
		{"types", types}, {"limits", dr.Limits}, {"headers", dr.Headers}, {"policies", dr.Policies}, {"events", dr.Events},
		{"subscriptions", dr.Subscriptions}, {"groups", dr.lonelyGroups()}, {"schedules", dr.Schedules},
	} {
		if len(section.entries.Content) > 0 {
			Set(root, section.name, section.entries)
		}
	}
	dr.nameKeys(root)
	return root
}

// maxWidth is how wide a mapping in one line may be.
const maxWidth = 100

// formatted writes the catalogue for people.
func (dr *Catalogue) formatted(root *yaml.Node) []byte {
	checked := encode(root)
	shorten(root)
	for name, section := range entries(root) {
		for _, entry := range entries(*section) {
			for _, part := range (*entry).Content {
				compact(part, maxWidth-4)
			}
			if len((*entry).Content) == 0 || name == "types" {
				compact(*entry, maxWidth-20)
			}
		}
	}
	pretty, err := edit.Format(spaced(encode(root)))
	if _, findings := parse.Text("", pretty); err != nil || findings != nil {
		return checked // a defect of what formats is no reason to refuse
	}
	return pretty
}

// shorten writes { type: T } as T, which is left of a field when the rest was taken out.
func shorten(root *yaml.Node) {
	short := func(in *yaml.Node) {
		for _, body := range entries(in) {
			shortenOne(body)
		}
	}
	short(Get(root, "headers"))
	for _, policy := range entries(Get(root, "policies")) {
		short(Get(*policy, "headers"))
	}
	short(Get(root, "types"))
	for _, section := range []string{"types", "events"} {
		for _, body := range entries(Get(root, section)) {
			eachField(*body, shortenOne)
		}
	}
}

func shortenOne(body **yaml.Node) {
	if of := *body; len(of.Content) == 2 && of.Content[0].Value == "type" {
		*body = of.Content[1]
	}
}

// eachField visits the fields of the body of an event, a type or a field, the inner ones first.
func eachField(body *yaml.Node, visit func(field **yaml.Node)) {
	for key, in := range entries(body) {
		for _, one := range entries(*in) {
			switch key {
			case "payload", "fields":
				eachField(*one, visit)
				visit(one)
			case "one_of":
				eachField(*one, visit)
			}
		}
	}
}

// lonelyGroups returns an entry for each group of one subscription, which a catalogue needs to have one.
func (dr *Catalogue) lonelyGroups() *yaml.Node {
	var names []string
	members := map[string]int{}
	count := func(subscriptions *yaml.Node) {
		for _, s := range entries(subscriptions) {
			if group := Get(*s, "group"); group != nil {
				names = append(names, group.Value)
				members[group.Value]++
			}
		}
	}
	for _, event := range entries(dr.Events) {
		count(Get(*event, "subscriptions"))
	}
	count(dr.Subscriptions)
	groups := Mapping()
	for _, name := range names {
		if members[name] == 1 {
			Set(groups, name, Flow(Mapping()))
		}
	}
	return groups
}
