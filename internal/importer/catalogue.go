package importer

import (
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/edit"
)

// maxRepairs is how often the catalogue may be read.
const maxRepairs = 60

// catalogue writes the catalogue. What its reader refuses, such as a default that does not fit a
// pattern, is taken out and reported where it came from; nil if no event is left.
func (im *importer) catalogue() []byte {
	if len(im.events.Content) == 0 {
		return nil
	}
	root := im.document()
	for range maxRepairs {
		source := encode(root)
		_, findings := parse.Text("", source)
		if findings == nil {
			return im.formatted(root)
		}
		m := repairer{importer: im, root: root, gone: map[*yaml.Node]bool{}}
		m.spots(source)
		for _, f := range findings {
			m.repair(f)
		}
		if i := find(root, "events"); i < 0 || len(root.Content[i].Content) == 0 {
			return nil
		}
	}
	im.report(im.root.place, rules.ImportDocument, "the document cannot be turned into a valid catalogue, even without some of its parts")
	return nil
}

// document puts the catalogue together.
func (im *importer) document() *yaml.Node {
	root := mapping()
	set(root, "version", plain("1"))
	title := im.root.str("title")
	if title == "" {
		title = im.root.get("info").str("title")
	}
	set(root, "package", textNode(im.packageName(title)))
	im.nameInJSON(root)
	if len(im.types) > 0 {
		slices.SortStableFunc(im.types, func(a, b *typeDraft) int { return im.compare(a.at, b.at) })
		types := mapping()
		for _, t := range im.types {
			im.add(types, t.name, t.body, t.at)
		}
		set(root, "types", types)
	}
	if im.limits != nil {
		set(root, "limits", im.limits)
	}
	if im.headers != nil {
		set(root, "headers", im.headers)
	}
	if im.policies != nil {
		set(root, "policies", im.policies)
	}
	set(root, "events", im.events)
	if im.patterns != nil {
		set(root, "subscriptions", im.patterns)
	}
	if groups := lonelyGroups(im.events, im.patterns); len(groups.Content) > 0 {
		set(root, "groups", groups)
	}
	if len(im.schedules.Content) > 0 {
		set(root, "schedules", im.schedules)
	}
	im.nameKeys(root)
	return root
}

// maxWidth is how wide a mapping in one line may be.
const maxWidth = 100

// formatted writes the catalogue for people.
func (im *importer) formatted(root *yaml.Node) []byte {
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
