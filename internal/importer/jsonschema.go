package importer

import (
	"cmp"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
)

// JSONSchema makes a catalogue of a JSON Schema, in JSON or YAML; file is only its
// name in findings. A schema that is itself a payload is one event, and one with alternatives is
// an event for each. Otherwise the events are
// the definitions that nothing refers to: those that have the name of an event or, if there
// are none, all that are objects.
func JSONSchema(file string, source []byte, o Options) *Result {
	return run(file, source, o, (*importer).jsonSchema)
}

func (im *importer) jsonSchema() {
	if im.root.get("asyncapi") != nil {
		im.report(im.root.at("asyncapi"), rules.ImportDocument, "this is an AsyncAPI document").Hint = "import it with busgen import asyncapi"
		return
	}
	if im.root.get("openapi").is(text) {
		im.report(im.root.at("openapi"), rules.ImportDocument, "this is an OpenAPI document").Hint = "import it with busgen import openapi"
		return
	}
	defs := im.definitions()
	if !onlySays(im.root, "") {
		im.rootEvents()
	} else if im.Event != "" {
		im.report(im.root.place, rules.ImportDocument, "the document has only definitions, so there is no payload to name %s", quoted(im.Event))
	} else {
		im.definedEvents(im.eventDefs(defs))
	}
	im.declareAll(defs)
}

// definedEvents makes events of definitions.
func (im *importer) definedEvents(defs []member) {
	var all []alternative
	for _, d := range defs {
		im.reserve(localName(d.value, d.name))
		all = append(all, alternative{at: d.at, schema: d.value})
	}
	im.observeGiven(all)
	for _, d := range defs {
		im.event(localName(d.value, d.name), d.name, d.at, d.value, nil)
	}
}

// localName is what a catalogue called the event that an export has put under a name; the name itself for
// what somebody else wrote.
func localName(n *node, name string) string {
	if local := n.get("x-busgen").str("event"); glob.ValidName(local) == nil {
		return local
	}
	return name
}

// definitions are the members of $defs, and of definitions, as it was called before.
func (im *importer) definitions() []member {
	return append(im.root.get("$defs").properties(), im.root.get("definitions").properties()...)
}

// rootEvents makes events of the schema itself: one, or one of each payload that it describes.
func (im *importer) rootEvents() {
	name := im.Event
	if name == "" {
		name = eventName(snake(im.root.str("title")))
	}
	if name == "" {
		name = im.fallback
	}
	all := im.alternatives(im.root)
	im.observeGiven(all)
	if len(all) == 1 {
		im.reserve(name)
		im.event(name, "", im.root.place, all[0].schema, nil)
		return
	}
	prefix := ""
	if im.Event != "" {
		prefix = im.Event + "."
	}
	nameAlternatives(all, name)
	for _, a := range all {
		im.reserve(prefix + a.name)
	}
	examples := im.divide(im.root.get("examples").elements(), all, func(e *node) *node { return e })
	for i, a := range all {
		im.event(prefix+a.name, "", a.at, a.schema, func(_ *yaml.Node, u *use) { u.examples = append(u.examples, examples[i]...) })
	}
}

// observeGiven compares the examples that the document does not have with the payloads.
func (im *importer) observeGiven(all []alternative) {
	examples := [][]*node{im.given}
	if len(all) != 1 {
		examples = im.divide(im.given, all, func(e *node) *node { return e })
	}
	for i, a := range all {
		if len(examples[i]) > 0 {
			im.observePayload(im.look(a.schema), examples[i])
		}
	}
}

// reserve keeps types from taking the Go names of an event.
func (tm *typeMaker) reserve(event string) {
	goName := catalog.GoName(eventName(event))
	tm.typeNames[goName], tm.typeNames[goName+"Type"] = true, true
}

// eventDefs are the definitions that are events.
func (im *importer) eventDefs(defs []member) (events []member) {
	var others []member
	for _, d := range defs {
		switch {
		case im.references[d.value] > 0 || !isPayload(im.look(d.value).schema):
		case glob.ValidName(localName(d.value, d.name)) == nil:
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

// isPayload tells whether values of a schema are objects of which something is known.
func isPayload(s *node) bool {
	isObject := s.str("type") == "object" || s.get("type") == nil && s.get("properties") != nil
	return s.is(object) && isObject && isStruct(use{schema: s, def: s})
}

// declareAll makes types of definitions that nobody has asked for, but not of those of which
// something else was made.
func (im *importer) declareAll(defs []member) {
	for _, d := range defs {
		if im.isAbsorbed(d.value) || im.isType(d.value) {
			continue
		}
		u := im.look(d.value)
		if u.def == nil {
			u.def, u.name = d.value, d.name
		}
		t := im.shape(u, spot{})
		if !im.isType(d.value) && im.references[d.value] == 0 {
			im.note(d.at, "nothing uses the type %s, which is another name for %s; it is left out", quoted(d.name), t.text)
		}
	}
}

// event adds an event with what more says of it, and returns its body; nil after a finding. The name on the wire is
// that in the document, or empty if the name was made of something else.
func (im *importer) event(name, wire string, at diag.Place, payload *node, more func(body *yaml.Node, u *use)) *yaml.Node {
	wanted := eventName(name)
	if wanted == "" {
		wanted = "event"
	}
	u := use{schema: newObject(at)}
	if payload != nil {
		u = im.look(payload)
		if !isPayload(u.schema) {
			im.report(payload.place, rules.ImportPayload, "the payload of %s is not an object with known properties; the event is left out", quoted(name)).
				Hint = "the payload of an event has fields: put the value into one"
			return nil
		}
	}
	im.absorb(payload, u.schema, u.def)
	free := im.eventNames.unique(wanted)
	body := mapping()
	im.add(im.events, free, body, at)
	switch {
	case wire == free:
	case wire != "" && isWire(wire) && !im.wires[wire]:
		im.add(body, "wire", textNode(wire), at)
	case free != name:
		im.rename(anEvent, cmp.Or(wire, name), free, at)
		wire = free
	default:
		wire = free
	}
	im.wires[wire] = true
	if more != nil {
		more(body, &u)
	}
	im.observePayload(u, u.examples)
	im.goName(body, &u, free)
	im.say(body, u, saying{name: free, examples: true})
	if fields := im.fields(u.schema, catalog.GoName(free)); fields.Content != nil {
		im.add(body, "payload", fields, u.schema.place)
	} else if payload != nil && u.schema.get("additionalProperties") == nil {
		im.note(u.schema.place, "the payload has no properties, so the event has no fields")
	}
	im.examples(body, u.examples)
	return body
}

// goName takes a title for the Go name if it can be that.
func (im *importer) goName(body *yaml.Node, u *use, name string) {
	if u.title == nil || u.def != nil || !catalog.TypeName.MatchString(u.title.text) {
		return
	}
	if u.title.text != catalog.GoName(name) {
		im.addText(body, "go_name", u.title.text, u.title.place)
	}
	u.title = nil
}

// examples adds examples of a payload.
func (im *importer) examples(body *yaml.Node, all []*node) {
	l := &yaml.Node{Kind: yaml.SequenceNode}
	var seen []*node
	for _, e := range all {
		repeated := false
		for _, s := range seen {
			repeated = repeated || same(s, e)
		}
		if repeated {
			continue
		}
		seen = append(seen, e)
		item := im.yamlOf(e)
		if item == nil {
			continue
		}
		im.setPlace(item, e.place)
		l.Content = append(l.Content, item)
	}
	if l.Content != nil {
		im.add(body, "examples", l, all[0].place)
	}
}
