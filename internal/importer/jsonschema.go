package importer

import (
	"cmp"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/internal/importer/draft"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/names"
	"github.com/busgen/busgen/internal/importer/payloads"
	"github.com/busgen/busgen/internal/importer/schema"
	"github.com/busgen/busgen/internal/importer/tree"
	"github.com/busgen/busgen/internal/importer/types"
)

// jsonSchema reads a JSON Schema. One that is itself a payload is one event, and one with alternatives is an event for each.
// Otherwise the events are the definitions that nothing refers to: those that have the name of an event or, if there
// are none, all that are objects.
func (im *importer) jsonSchema() {
	defs := im.definitions()
	if !schema.OnlySays(im.root, "") {
		im.rootEvents()
	} else if im.Event != "" {
		im.Report(im.root.Place, rules.ImportDocument,
			"the document has only definitions, so there is no payload to name %s", findings.Quote(im.Event))
	} else {
		im.definedEvents(im.eventDefs(defs))
	}
	im.declareAll(defs)
}

// definedEvents makes events of definitions.
func (im *importer) definedEvents(defs []tree.Member) {
	var all []payloads.Alternative
	for _, d := range defs {
		im.types.Reserve(localName(d.Value, d.Name))
		all = append(all, payloads.Alternative{At: d.At, Schema: d.Value})
	}
	im.observeGiven(all)
	for _, d := range defs {
		im.event(localName(d.Value, d.Name), d.Name, d.At, d.Value, nil)
	}
}

// localName is what a catalogue called the event that an export has put under a name; the name itself in other
// documents.
func localName(n *tree.Node, name string) string {
	if local := n.Get("x-busgen").Str("event"); glob.ValidName(local) == nil {
		return local
	}
	return name
}

// definitions are the members of $defs, and of definitions, as it was called before.
func (im *importer) definitions() []tree.Member {
	return append(im.root.Get("$defs").Properties(), im.root.Get("definitions").Properties()...)
}

// rootEvents makes events of the schema itself: one, or one of each payload that it describes.
func (im *importer) rootEvents() {
	name := im.Event
	if name == "" {
		name = names.Event(names.Snake(im.root.Str("title")))
	}
	if name == "" {
		name = im.name
	}
	all := im.payloads.Of(im.root)
	im.observeGiven(all)
	if len(all) == 1 {
		im.types.Reserve(name)
		im.event(name, "", im.root.Place, all[0].Schema, nil)
		return
	}
	prefix := ""
	if im.Event != "" {
		prefix = im.Event + "."
	}
	payloads.Name(all, name)
	for _, a := range all {
		im.types.Reserve(prefix + a.Name)
	}
	examples := im.payloads.Divide(im.root.Get("examples").Elements(), all, func(e *tree.Node) *tree.Node { return e })
	for i, a := range all {
		im.event(prefix+a.Name, "", a.At, a.Schema, func(_ *yaml.Node, u *schema.Use) {
			u.Examples = append(u.Examples, examples[i]...)
		})
	}
}

// observeGiven compares the examples that the document does not have with the payloads.
func (im *importer) observeGiven(all []payloads.Alternative) {
	examples := [][]*tree.Node{im.given}
	if len(all) != 1 {
		examples = im.payloads.Divide(im.given, all, func(e *tree.Node) *tree.Node { return e })
	}
	for i, a := range all {
		if len(examples[i]) > 0 {
			im.observer.ObservePayload(im.schemas.Look(a.Schema), examples[i])
		}
	}
}

// eventDefs are the definitions that are events.
func (im *importer) eventDefs(defs []tree.Member) (events []tree.Member) {
	var others []tree.Member
	for _, d := range defs {
		switch {
		case im.references[d.Value] > 0 || !schema.IsPayload(im.schemas.Look(d.Value).Schema):
		case glob.ValidName(localName(d.Value, d.Name)) == nil:
			events = append(events, d)
		default:
			others = append(others, d)
		}
	}
	if events == nil {
		return others
	}
	return events
}

// declareAll makes types of definitions that no field uses, but not of those of which something else was made.
func (im *importer) declareAll(defs []tree.Member) {
	for _, d := range defs {
		if im.schemas.IsAbsorbed(d.Value) || im.types.IsType(d.Value) {
			continue
		}
		u := im.schemas.Look(d.Value)
		if u.Def == nil {
			u.Def, u.Name = d.Value, d.Name
		}
		t := im.types.Shape(u, types.Spot{})
		if !im.types.IsType(d.Value) && im.references[d.Value] == 0 {
			im.Note(d.At, "nothing uses the type %s, which is another name for %s; it is left out", findings.Quote(d.Name),
				t.Text)
		}
	}
}

// event adds an event with what more says of it, and returns its body; nil after a finding. The name on the wire is
// that in the document, or empty if the name was made of something else.
func (im *importer) event(name, wire string, at diag.Place, payload *tree.Node,
	more func(body *yaml.Node, u *schema.Use)) *yaml.Node {
	wanted := names.Event(name)
	if wanted == "" {
		wanted = "event"
	}
	u := schema.Use{Schema: tree.NewObject(at)}
	if payload != nil {
		u = im.schemas.Look(payload)
		if !schema.IsPayload(u.Schema) {
			im.Report(payload.Place, rules.ImportPayload,
				"the payload of %s is not an object with known properties; the event is left out", findings.Quote(name)).
				Hint = "the payload of an event has fields: put the value into one"
			return nil
		}
	}
	im.schemas.Absorb(payload, u.Schema, u.Def)
	free := im.eventNames.Unique(wanted)
	body := draft.Mapping()
	im.catalogue.Add(im.catalogue.Events, free, body, at)
	switch {
	case wire == free:
	case wire != "" && names.IsWire(wire) && !im.wires[wire]:
		im.catalogue.Add(body, "wire", draft.Text(wire), at)
	case free != name:
		im.Rename(findings.Event, cmp.Or(wire, name), free, at)
		wire = free
	default:
		wire = free
	}
	im.wires[wire] = true
	if more != nil {
		more(body, &u)
	}
	im.observer.ObservePayload(u, u.Examples)
	im.goName(body, &u, free)
	im.types.Say(body, u, types.Saying{Name: free, Examples: true})
	if fields := im.types.Fields(u.Schema, catalog.GoName(free)); fields.Content != nil {
		im.catalogue.Add(body, "payload", fields, u.Schema.Place)
	} else if payload != nil && u.Schema.Get("additionalProperties") == nil {
		im.Note(u.Schema.Place, "the payload has no properties, so the event has no fields")
	}
	im.examples(body, u.Examples)
	return body
}

// goName takes a title for the Go name if it can be that.
func (im *importer) goName(body *yaml.Node, u *schema.Use, name string) {
	if u.Title == nil || u.Def != nil || !catalog.TypeName.MatchString(u.Title.Text) {
		return
	}
	if u.Title.Text != catalog.GoName(name) {
		im.catalogue.AddText(body, "go_name", u.Title.Text, u.Title.Place)
	}
	u.Title = nil
}

// examples adds examples of a payload.
func (im *importer) examples(body *yaml.Node, all []*tree.Node) {
	l := &yaml.Node{Kind: yaml.SequenceNode}
	var seen []*tree.Node
	for _, e := range all {
		repeated := false
		for _, s := range seen {
			repeated = repeated || tree.Same(s, e)
		}
		if repeated {
			continue
		}
		seen = append(seen, e)
		item := im.catalogue.Value(e)
		if item == nil {
			continue
		}
		im.catalogue.SetPlace(item, e.Place)
		l.Content = append(l.Content, item)
	}
	if l.Content != nil {
		im.catalogue.Add(body, "examples", l, all[0].Place)
	}
}
