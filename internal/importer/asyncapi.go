package importer

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
)

// AsyncAPI makes a catalogue of an AsyncAPI document of version 3 or 2, in JSON or YAML; file is
// only its name in findings. A message becomes an event, what the program receives a
// subscription of it, and components/schemas become types.
func AsyncAPI(file string, source []byte, o Options) *Result {
	return run(file, source, o, (*importer).asyncAPI)
}

func (im *importer) asyncAPI() {
	version := im.root.str("asyncapi")
	major, _, _ := strings.Cut(version, ".")
	if version == "" || major != "2" && major != "3" {
		im.report(im.root.at("asyncapi"), RuleDocument, "this is no AsyncAPI document of version 2 or 3").Hint = "it begins with asyncapi: 3.0.0, or the like"
		return
	}
	if im.Event != "" {
		im.report(im.root.place, RuleDocument, "the messages have names, so that no event can be named %s", quoted(im.Event))
		return
	}
	r := &asyncReader{importer: im, made: map[*node]*asyncEvent{}, subscriptions: names{}}
	r.reserveNames()
	if major == "2" {
		r.channels2()
	} else {
		r.channels3()
		r.operations3()
	}
	components := im.root.get("components")
	for _, m := range components.get("messages").properties() {
		r.message(m, m.name)
	}
	im.declareAll(components.get("schemas").properties())
	r.rest(components)
}

// An asyncReader reads an AsyncAPI document.
type asyncReader struct {
	*importer
	made          map[*node]*asyncEvent // by message
	subscriptions names
}

// An asyncEvent is the event that was made of a message.
type asyncEvent struct {
	name          string
	body          *yaml.Node
	settings      *node      // that are its own
	subscriptions *yaml.Node // nil for none
}

// reserveNames keeps types from taking the Go names of events.
func (r *asyncReader) reserveNames() {
	for _, m := range r.root.get("components").get("messages").properties() {
		r.typeNames[catalog.GoName(eventName(messageName(m.value, m.name)))] = true
	}
}

// messageName is the name of a message, or else what it is called in the document.
func messageName(m *node, key string) string {
	for _, name := range []string{m.str("name"), key, m.str("messageId")} {
		if eventName(name) != "" {
			return name
		}
	}
	return key
}

// followed returns what a $ref leads to, with the last word of the reference.
func (im *importer) followed(m member) (*node, string) {
	n, name := m.value, m.name
	for range maxReferences {
		if n.get("$ref") == nil {
			return n, name
		}
		next, last := im.resolve(n)
		if next == nil {
			return nil, ""
		}
		n, name = next, last
	}
	return nil, ""
}

// message makes an event of a message, once; nil after a finding.
func (r *asyncReader) message(m member, key string) *asyncEvent {
	n, last := r.followed(m)
	if !n.is(object) {
		return nil
	}
	if e, ok := r.made[n]; ok {
		return e
	}
	if m.value != n {
		key = last
	}
	r.made[n] = nil
	e := &asyncEvent{settings: n.get("x-busgen").get("settings")}
	payload := r.payload(n)
	if n.get("payload") != nil && payload == nil {
		return nil
	}
	e.body = r.event(messageName(n, key), m.at, payload, func(body *yaml.Node, u *use) { r.describe(body, u, n) })
	if e.body == nil {
		return nil
	}
	e.name = r.events.Content[len(r.events.Content)-2].Value
	r.settings(e.body, e.settings, builtIn())
	r.made[n] = e
	return e
}

// payload is the schema of a message's payload; nil if there is none, or it is in a language
// that is not JSON Schema.
func (r *asyncReader) payload(n *node) *node {
	payload := n.get("payload")
	format, at := n.str("schemaFormat"), n.at("schemaFormat")
	if inner := payload.get("schema"); inner != nil && payload.get("schemaFormat") != nil {
		format, at, payload = payload.str("schemaFormat"), payload.at("schemaFormat"), inner
	}
	if format != "" && !strings.Contains(format, "json") && !strings.Contains(format, "aai.asyncapi") {
		r.report(at, RulePayload, "the payload is described in %s, so that the event is left out", quoted(format)).Hint = "only JSON Schema is read"
		return nil
	}
	if of := n.str("contentType"); of != "" && !strings.Contains(of, "json") {
		r.report(n.at("contentType"), RulePayload, "the content is %s; that of an event is JSON", quoted(of))
	}
	return payload
}

// messageKeys are those that an event has a counterpart for.
var messageKeys = []string{"name", "messageId", "title", "summary", "description", "payload", "schemaFormat", "contentType", "deprecated", "tags", "examples", "x-busgen"}

// describe adds what is said of a message beside its payload.
func (r *asyncReader) describe(body *yaml.Node, u *use, n *node) {
	r.addText(body, "owner", n.get("x-busgen").str("owner"), n.at("x-busgen"))
	r.addText(body, "partition_by", n.get("x-busgen").str("partition_by"), n.at("x-busgen"))
	r.tags(body, n.get("tags"))
	for _, e := range n.get("examples").elements() {
		if payload := e.get("payload"); payload != nil {
			u.examples = append(u.examples, payload)
		}
		if e.get("headers") != nil {
			r.note(e.at("headers"), "a catalogue has no place for the headers of an example")
		}
	}
	if u.def != nil { // what is said of a schema is not said of this message
		u.title, u.description, u.deprecated = nil, nil, nil
	}
	if title := n.get("title"); title.is(text) {
		u.title = title
		u.def = nil
	}
	if n.isTrue("deprecated") && u.deprecated == nil {
		u.deprecated = n.get("deprecated")
	}
	r.doc(u, n)
	for _, m := range n.members {
		switch {
		case slices.Contains(messageKeys, m.name):
		case m.name == "headers", m.name == "traits":
			r.report(m.at, RuleKeyword, "the %s of a message have no counterpart in a catalogue", m.name).Hint = "put what handlers need into the payload, or into the metadata of an event"
		default:
			r.note(m.at, "a catalogue has no place for %s of a message", m.name)
		}
	}
}

// doc puts together what a message and its payload say.
func (r *asyncReader) doc(u *use, n *node) {
	var parts []string
	var at *node
	add := func(said *node) {
		if !said.is(text) {
			return
		}
		sentence := strings.TrimSpace(said.text)
		for _, p := range parts {
			if rest, _ := splitReason(sentence); rest == p {
				sentence = strings.TrimSpace(strings.TrimPrefix(sentence, p))
			}
		}
		if at == nil {
			at = said
		}
		if sentence != "" {
			parts = append(parts, sentence)
		}
	}
	if n.get("summary").is(text) && strings.TrimSpace(n.str("summary")) != strings.TrimSpace(n.str("description")) {
		add(n.get("summary"))
	}
	add(n.get("description"))
	add(u.description)
	if at != nil {
		u.description = &node{kind: text, text: strings.Join(parts, "\n\n"), place: at.place}
	}
}

// tags are words in a catalogue.
func (r *asyncReader) tags(body *yaml.Node, tags *node) {
	l := flow(&yaml.Node{Kind: yaml.SequenceNode})
	taken := map[string]bool{}
	for _, t := range tags.elements() {
		if t.get("$ref") != nil {
			t, _ = r.resolve(t)
		}
		name := t.str("name")
		word := name
		if !tagSyntax.MatchString(word) {
			word = joined(name, "-")
		}
		if word == "" || taken[word] {
			continue
		}
		if word != name {
			r.note(t.at("name"), "the tag %s is %s in a catalogue", quoted(name), word)
		}
		if t.get("description") != nil {
			r.note(t.at("description"), "a catalogue has no place for the description of a tag")
		}
		taken[word] = true
		item := textNode(word)
		r.places[item] = t.place
		l.Content = append(l.Content, item)
	}
	if l.Content != nil {
		r.add(body, "tags", l, tags.place)
	}
}

// subscribe adds a subscription to the event of a message.
func (r *asyncReader) subscribe(e *asyncEvent, name string, at member, description *node) {
	if e == nil {
		return
	}
	wanted := strings.TrimPrefix(name, "handle.")
	if !subscriptionSyntax.MatchString(wanted) || len(wanted) > 200 {
		wanted = joined(wanted, "-")
		if wanted == "" || len(wanted) > 200 {
			wanted = "subscription"
		}
	}
	free := r.subscriptions.unique(wanted)
	if free != strings.TrimPrefix(name, "handle.") {
		r.note(at.at, "the operation %s becomes the subscription %s", quoted(name), free)
	}
	if e.subscriptions == nil {
		e.subscriptions = mapping()
		r.add(e.body, "subscriptions", e.subscriptions, at.at)
	}
	body := mapping()
	if description.is(text) {
		r.addText(body, "doc", strings.TrimSpace(description.text), description.place)
	}
	base := builtIn()
	if e.settings != nil {
		clear(base) // all of them are there
	}
	for _, m := range e.settings.properties() {
		base[m.name] = settingText(m.value)
	}
	if own := at.value.get("x-busgen").get("settings"); own != nil {
		r.settings(body, without(own, "priority"), base)
	}
	r.add(e.subscriptions, free, body, at.at)
}

// rest reports what no event and no type was made of.
func (r *asyncReader) rest(components *node) {
	for _, m := range r.root.members {
		switch m.name {
		case "asyncapi", "info", "channels", "operations", "components":
		case "defaultContentType":
			if !strings.Contains(m.value.text, "json") {
				r.report(m.at, RulePayload, "the content is %s; that of an event is JSON", quoted(m.value.text))
			}
		default:
			r.note(m.at, "a catalogue has no place for %s of the document", m.name)
		}
	}
	for _, m := range r.root.get("info").properties() {
		if m.name != "title" && m.name != "version" {
			r.note(m.at, "a catalogue has no place for %s of info", m.name)
		}
	}
	for _, m := range components.properties() {
		if m.name != "messages" && m.name != "schemas" {
			r.note(m.at, "a catalogue has no place for %s of components", m.name)
		}
	}
}
