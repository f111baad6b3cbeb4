package importer

import (
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/edit"
)

// maxRepairs is how often the catalogue may be read.
const maxRepairs = 60

// A draft is a catalogue that is being made.
type draft struct {
	*findingList
	pkg   string     // of the generated code
	whole diag.Place // of the document
	max   int        // parts that one value of the document may have

	events    *yaml.Node // name → event
	schedules *yaml.Node // name → schedule
	limits    *yaml.Node // name → limit; nil for none
	headers   *yaml.Node // name → header; nil for none
	policies  *yaml.Node // pattern → policy; nil for none
	patterns  *yaml.Node // name → subscription for patterns; nil for none
	types     []*typeDraft
	keys      []fieldKey // all fields

	// places says what of the document a key or an item of the catalogue was made of.
	places map[*yaml.Node]diag.Place
}

// A typeDraft is an entry of types.
type typeDraft struct {
	name string
	at   diag.Place
	body *yaml.Node
}

func newDraft(findings *findingList, pkg string, whole diag.Place, max int) *draft {
	return &draft{
		findingList: findings, pkg: pkg, whole: whole, max: max,
		events: mapping(), schedules: mapping(), places: map[*yaml.Node]diag.Place{},
	}
}

// newType adds a type, which has no body yet.
func (dr *draft) newType(name string, at diag.Place) *typeDraft {
	t := &typeDraft{name: name, at: at}
	dr.types = append(dr.types, t)
	return t
}

// catalogue writes the catalogue. What its reader refuses, such as a default that does not fit a
// pattern, is taken out and reported where it came from; nil if no event is left.
func (dr *draft) catalogue() []byte {
	if len(dr.events.Content) == 0 {
		return nil
	}
	root := dr.document()
	for range maxRepairs {
		source := encode(root)
		_, findings := parse.Text("", source)
		if findings == nil {
			return dr.formatted(root)
		}
		m := repairer{draft: dr, root: root, gone: map[*yaml.Node]bool{}}
		m.spots(source)
		for _, f := range findings {
			m.repair(f)
		}
		if i := find(root, "events"); i < 0 || len(root.Content[i].Content) == 0 {
			return nil
		}
	}
	dr.report(dr.whole, rules.ImportDocument, "the document cannot be turned into a valid catalogue, even without some of its parts")
	return nil
}

// document puts the catalogue together.
func (dr *draft) document() *yaml.Node {
	root := mapping()
	set(root, "version", plain("1"))
	set(root, "package", textNode(dr.pkg))
	dr.nameInJSON(root)
	if len(dr.types) > 0 {
		slices.SortStableFunc(dr.types, func(a, b *typeDraft) int { return dr.compare(a.at, b.at) })
		types := mapping()
		for _, t := range dr.types {
			dr.add(types, t.name, t.body, t.at)
		}
		set(root, "types", types)
	}
	if dr.limits != nil {
		set(root, "limits", dr.limits)
	}
	if dr.headers != nil {
		set(root, "headers", dr.headers)
	}
	if dr.policies != nil {
		set(root, "policies", dr.policies)
	}
	set(root, "events", dr.events)
	if dr.patterns != nil {
		set(root, "subscriptions", dr.patterns)
	}
	if groups := lonelyGroups(dr.events, dr.patterns); len(groups.Content) > 0 {
		set(root, "groups", groups)
	}
	if len(dr.schedules.Content) > 0 {
		set(root, "schedules", dr.schedules)
	}
	dr.nameKeys(root)
	return root
}

// maxWidth is how wide a mapping in one line may be.
const maxWidth = 100

// formatted writes the catalogue for people.
func (dr *draft) formatted(root *yaml.Node) []byte {
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
	if i := find(root, "policies"); i > 0 {
		for j := 1; j < len(root.Content[i].Content); j += 2 {
			shortenHeaders(root.Content[i].Content[j])
		}
	}
	for _, section := range []string{"types", "events"} {
		if i := find(root, section); i > 0 {
			for j := 1; j < len(root.Content[i].Content); j += 2 {
				if body := root.Content[i].Content[j]; section == "types" && len(body.Content) == 2 && body.Content[0].Value == "type" {
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
	if i := find(in, "headers"); i > 0 {
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
