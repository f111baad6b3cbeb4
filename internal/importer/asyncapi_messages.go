package importer

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// message makes events of a message, once: one, or one of each payload that it can have. There are
// none after a finding. A message that is written again in another channel, word for word, is the same.
func (r *asyncReader) message(m member, key string) []*asyncEvent {
	n, last := r.led(m.value)
	if !n.is(object) {
		return nil
	}
	if events, ok := r.made[n]; ok {
		return events
	}
	if m.value != n {
		key = last
	}
	r.made[n] = nil
	name := messageName(n, key)
	for _, other := range r.alike[name] {
		if same(n, other) {
			r.made[n] = r.made[other]
			return r.made[n]
		}
	}
	r.alike[name] = append(r.alike[name], n)
	payload := r.payload(n)
	if payload == nil && n.get("payload") != nil {
		return nil
	}
	all := []alternative{{at: m.at}}
	if payload != nil {
		all = r.alternatives(payload)
	}
	if len(all) == 1 {
		r.made[n] = r.messageEvent(n, messageLabel(n, key), name, m.at, all[0].schema, r.examplesIn(n))
		return r.made[n]
	}
	examples := r.divide(r.examplesIn(n), all, func(e *node) *node { return e.get("payload") })
	nameAlternatives(all, name)
	for i := range all {
		if !strings.HasPrefix(all[i].name, name+".") {
			all[i].name = name + "." + snake(all[i].name)
		}
		r.reserve(all[i].name)
	}
	for i, a := range all {
		r.made[n] = append(r.made[n], r.messageEvent(n, a.name, a.name, a.at, a.schema, examples[i])...)
	}
	return r.made[n]
}

// examplesIn are the examples of a message. Some documents have them in other files.
func (r *asyncReader) examplesIn(message *node) (all []*node) {
	for _, e := range message.get("examples").elements() {
		if e = r.followed(e); e != nil {
			all = append(all, e)
		}
	}
	return all
}

// messageEvent makes an event of a message with one of its payloads.
func (r *asyncReader) messageEvent(n *node, name, wire string, at diag.Place, payload *node, examples []*node) []*asyncEvent {
	e := &asyncEvent{settings: n.get("x-busgen").get("settings")}
	e.body = r.event(name, wire, at, payload, func(body *yaml.Node, u *use) {
		r.payloadName(body, u) // before what u says of the schema is what the message says
		r.describe(body, u, n, examples)
	})
	if e.body == nil {
		return nil
	}
	e.name = r.events.Content[len(r.events.Content)-2].Value
	r.settings(e.body, e.settings, builtIn())
	r.schedulesOf(e.name, n.get("x-busgen").get("schedules"))
	r.headers(e.name, n)
	return []*asyncEvent{e}
}

// payloadName says what the document calls the schema of a payload.
func (r *asyncReader) payloadName(body *yaml.Node, u *use) {
	if u.def == nil || r.isPart(u.def) {
		return
	}
	before := r.payloadNames[u.name]
	if before == nil && r.takesSchemaName(u.name) {
		before = u.def
		r.payloadNames[u.name] = u.def
	}
	if before == u.def { // messages may share it
		r.add(body, "schema", textNode(u.name), u.def.place)
	}
}

// payload is the schema of a message's payload; nil if there is none, or it is in a language
// that is not JSON Schema.
func (r *asyncReader) payload(n *node) *node {
	payload := n.get("payload")
	format, at := n.str("schemaFormat"), n.at("schemaFormat")
	if other := r.followed(payload); isMultiFormat(other) {
		format, at = other.str("schemaFormat"), other.at("schemaFormat")
	}
	if !isJSONSchema(format) {
		r.report(at, rules.ImportPayload, "the payload is described in %s; the event is left out", quoted(format)).Hint = "only JSON Schema is read"
		return nil
	}
	if of := n.str("contentType"); of != "" && !strings.Contains(of, "json") {
		r.report(n.at("contentType"), rules.ImportPayload, "the content is %s; that of an event is JSON", quoted(of))
	}
	return payload
}

// isMultiFormat tells a schema of AsyncAPI that says in which language it is.
func isMultiFormat(s *node) bool {
	return s.get("schema") != nil && s.get("schemaFormat").is(text)
}

// isJSONSchema tells the media types of JSON Schema, and of what AsyncAPI and OpenAPI make of it, from
// others, such as application/vnd.apache.avro+json. Without one it is the schema of AsyncAPI.
func isJSONSchema(format string) bool {
	mediaType, _, _ := strings.Cut(strings.ToLower(format), ";")
	name, _, _ := strings.Cut(strings.TrimSpace(mediaType), "+")
	return slices.Contains([]string{"", "application/schema", "application/json", "application/vnd.aai.asyncapi", "application/vnd.oai.openapi"}, name)
}

// messageKeys are those that an event has a counterpart for.
var messageKeys = []string{"name", "messageId", "title", "summary", "description", "headers", "traits", "payload", "schemaFormat", "contentType", "deprecated", "tags", "examples", "x-busgen"}

// result adds the type of the answers to an event, as busgen exports it.
func (r *asyncReader) result(body *yaml.Node, s *node) {
	if s == nil {
		return
	}
	t := r.typeOf(s, spot{goName: "Result", field: "of"})
	if t.fields != nil {
		r.note(s.place, "the answer to an event has a type with a name; this one is left out")
		return
	}
	kind := t.text
	if t.use.nullable && !t.hasNil() {
		kind += catalog.NullMark
	}
	result := mapping()
	r.say(result, t.use, saying{ofType: r.isType(t.use.def)})
	if result.Content == nil {
		r.add(body, "result", notation(kind), s.place)
		return
	}
	r.add(result, "type", notation(kind), s.place)
	r.add(body, "result", result, s.place)
}

// describe adds what is said of a message beside its payload.
func (r *asyncReader) describe(body *yaml.Node, u *use, n *node, examples []*node) {
	r.addText(body, "owner", n.get("x-busgen").str("owner"), n.at("x-busgen"))
	r.addText(body, "partition_by", n.get("x-busgen").str("partition_by"), n.at("x-busgen"))
	r.addText(body, "dedupe_by", n.get("x-busgen").str("dedupe_by"), n.at("x-busgen"))
	r.result(body, n.get("x-busgen").get("result"))
	r.tags(body, n.get("tags"))
	for _, e := range examples {
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
		u.description = newText(at.place, strings.Join(parts, "\n\n"))
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
		if !catalog.TagName.MatchString(word) {
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
		r.setPlace(item, t.place)
		l.Content = append(l.Content, item)
	}
	if l.Content != nil {
		r.add(body, "tags", l, tags.place)
	}
}
