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

	Events    *yaml.Node // name → event
	Schedules *yaml.Node // name → schedule
	Limits    *yaml.Node // name → limit; nil for none
	Headers   *yaml.Node // name → header; nil for none
	Policies  *yaml.Node // pattern → policy; nil for none
	Patterns  *yaml.Node // name → subscription for patterns; nil for none
	types     []*Type
	keys      []fieldKey // all fields

	// places says what of the document a key or an item of the catalogue was made of.
	places map[*yaml.Node]diag.Place
}

// A Type is an entry of types.
type Type struct {
	Name string
	at   diag.Place
	Body *yaml.Node
}

func New(findings *findings.List, pkg string, whole diag.Place, max int) *Catalogue {
	return &Catalogue{
		List: findings, pkg: pkg, whole: whole, max: max,
		Events: Mapping(), Schedules: Mapping(), places: map[*yaml.Node]diag.Place{},
	}
}

// NewType adds a type, which has no body yet.
func (dr *Catalogue) NewType(name string, at diag.Place) *Type {
	t := &Type{Name: name, at: at}
	dr.types = append(dr.types, t)
	return t
}

// Bytes writes the catalogue. What its reader refuses, such as a default that does not fit a
// pattern, is taken out and reported where it came from; nil if no event is left.
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
		if i := Find(root, "events"); i < 0 || len(root.Content[i].Content) == 0 {
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
	if len(dr.types) > 0 {
		slices.SortStableFunc(dr.types, func(a, b *Type) int { return dr.Compare(a.at, b.at) })
		types := Mapping()
		for _, t := range dr.types {
			dr.Add(types, t.Name, t.Body, t.at)
		}
		Set(root, "types", types)
	}
	if dr.Limits != nil {
		Set(root, "limits", dr.Limits)
	}
	if dr.Headers != nil {
		Set(root, "headers", dr.Headers)
	}
	if dr.Policies != nil {
		Set(root, "policies", dr.Policies)
	}
	Set(root, "events", dr.Events)
	if dr.Patterns != nil {
		Set(root, "subscriptions", dr.Patterns)
	}
	if groups := lonelyGroups(dr.Events, dr.Patterns); len(groups.Content) > 0 {
		Set(root, "groups", groups)
	}
	if len(dr.Schedules.Content) > 0 {
		Set(root, "schedules", dr.Schedules)
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
	for i := 1; i < len(root.Content); i += 2 {
		for j := 1; j < len(root.Content[i].Content); j += 2 {
			for _, part := range root.Content[i].Content[j].Content {
				compact(part, maxWidth-4)
			}
			if entry := root.Content[i].Content[j]; len(entry.Content) == 0 || root.Content[i-1].Value == "types" {
				compact(entry, maxWidth-20)
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
	shortenHeaders(root)
	if i := Find(root, "policies"); i > 0 {
		for j := 1; j < len(root.Content[i].Content); j += 2 {
			shortenHeaders(root.Content[i].Content[j])
		}
	}
	for _, section := range []string{"types", "events"} {
		if i := Find(root, section); i > 0 {
			for j := 1; j < len(root.Content[i].Content); j += 2 {
				if body := root.Content[i].Content[j]; section == "types" && len(body.Content) == 2 &&
					body.Content[0].Value == "type" {
					root.Content[i].Content[j] = body.Content[1]
				}
				eachField(root.Content[i].Content[j], func(fields *yaml.Node, value int) {
					if f := fields.Content[value]; len(f.Content) == 2 && f.Content[0].Value == "type" {
						fields.Content[value] = f.Content[1]
					}
				})
			}
		}
	}
}

// shortenHeaders writes { type: T } as T in the headers of in.
func shortenHeaders(in *yaml.Node) {
	if i := Find(in, "headers"); i > 0 {
		all := in.Content[i].Content
		for j := 1; j < len(all); j += 2 {
			if len(all[j].Content) == 2 && all[j].Content[0].Value == "type" {
				all[j] = all[j].Content[1]
			}
		}
	}
}

// eachField visits the fields of the body of an event, a type or a field, the inner ones
// first. What it visits is a mapping of fields, and the index of a value.
func eachField(body *yaml.Node, visit func(fields *yaml.Node, value int)) {
	for i := 0; i+1 < len(body.Content) && body.Kind == yaml.MappingNode; i += 2 {
		inner := body.Content[i+1]
		for j := 1; j < len(inner.Content); j += 2 {
			switch body.Content[i].Value {
			case "payload", "fields":
				eachField(inner.Content[j], visit)
				visit(inner, j)
			case "one_of":
				eachField(inner.Content[j], visit)
			}
		}
	}
}

// lonelyGroups returns an entry for each group of one subscription, which a catalogue needs to have one.
func lonelyGroups(events, patterns *yaml.Node) *yaml.Node {
	var names []string
	members := map[string]int{}
	count := func(subscriptions *yaml.Node) {
		for j := 1; j < len(subscriptions.Content); j += 2 {
			if at := Find(subscriptions.Content[j], "group"); at >= 0 {
				name := subscriptions.Content[j].Content[at].Value
				names = append(names, name)
				members[name]++
			}
		}
	}
	for i := 1; i < len(events.Content); i += 2 {
		if at := Find(events.Content[i], "subscriptions"); at >= 0 {
			count(events.Content[i].Content[at])
		}
	}
	if patterns != nil {
		count(patterns)
	}
	groups := Mapping()
	for _, name := range names {
		if members[name] == 1 {
			Set(groups, name, Flow(Mapping()))
		}
	}
	return groups
}
