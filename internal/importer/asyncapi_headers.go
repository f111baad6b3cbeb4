package importer

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// eventHeaders are the headers of an event, as a catalogue has them.
type eventHeaders struct {
	event  string
	at     diag.Place
	bodies *yaml.Node // name → header
}

// maxHeaderParts limits how many schemas the headers of a message are put together from.
const maxHeaderParts = 50

// headers reads the headers of a message, with those of its traits, for an event that was made of it.
func (r *asyncReader) headers(event string, message *node) {
	all := eventHeaders{event: event, at: message.at("headers"), bodies: mapping()}
	parts := 0
	r.headersOf(all.bodies, message.get("headers"), &parts)
	for _, t := range message.get("traits").elements() {
		trait := r.followed(t)
		if all.bodies.Content == nil && trait.get("headers") != nil {
			all.at = trait.at("headers")
		}
		r.headersOf(all.bodies, trait.get("headers"), &parts)
		for _, m := range trait.properties() {
			if m.name != "headers" {
				r.report(m.at, rules.ImportKeyword, "the traits of a message have no counterpart in a catalogue, apart from headers").
					Hint = "write what is in the trait into the message"
				break
			}
		}
	}
	if all.bodies.Content != nil {
		r.eventHeaders = append(r.eventHeaders, all)
	}
}

// headersOf adds the headers that a schema describes, also by parts of it. What was described before stays.
func (r *asyncReader) headersOf(bodies *yaml.Node, headers *node, parts *int) {
	if headers == nil {
		return
	}
	s := r.followed(headers)
	if isMultiFormat(s) {
		if !isJSONSchema(s.str("schemaFormat")) {
			r.report(s.at("schemaFormat"), rules.ImportPayload, "the headers are described in %s; they are left out", quoted(s.str("schemaFormat"))).
				Hint = "only JSON Schema is read"
			return
		}
		s = r.followed(s.get("schema"))
	}
	if *parts++; s == nil || *parts > maxHeaderParts {
		return
	}
	var required []string
	for _, name := range s.get("required").elements() {
		required = append(required, name.text)
	}
	for _, m := range s.get("properties").properties() {
		if find(bodies, m.name) >= 0 {
			continue
		}
		schema := r.followed(m.value)
		kind := r.headerType(schema)
		if kind == "" {
			r.report(m.at, rules.ImportKeyword, "the header %s has no type that headers of a catalogue have; it is left out", quoted(m.name)).
				Hint = "its value is one text in the metadata of an event: put it into the payload, or set it with WithMetadata"
			continue
		}
		body := mapping()
		r.add(body, "type", textNode(kind), m.at)
		if doc := schema.get("description"); doc.is(text) {
			r.addText(body, "doc", strings.TrimSpace(doc.text), doc.place)
		}
		if slices.Contains(required, m.name) {
			r.add(body, "required", plain("true"), m.at)
		}
		for _, more := range schema.properties() {
			if !slices.Contains([]string{"type", "format", "description", "title", "examples", "example", "minimum", "maximum", "pattern"}, more.name) && !strings.HasPrefix(more.name, "x-") {
				r.note(more.at, "a catalogue has no place for %s of a header", more.name)
			}
		}
		r.add(bodies, m.name, body, m.at)
	}
	for _, part := range s.get("allOf").elements() {
		r.headersOf(bodies, part, parts)
	}
	for _, m := range s.properties() {
		if slices.Contains([]string{"anyOf", "oneOf", "if", "not", "patternProperties"}, m.name) {
			r.report(m.at, rules.ImportKeyword, "%s of headers has no counterpart in a catalogue", m.name).Hint = "name each header under properties"
		}
	}
}

// headerType is the type of a header in a catalogue; empty if there is none.
func (r *asyncReader) headerType(s *node) string {
	switch s.str("type") {
	case "string":
		if kind, _ := textKind(s); slices.Contains(catalog.HeaderTypes, kind) {
			return kind
		}
		return "string"
	case "boolean":
		return "bool"
	case "number":
		return "float64"
	case "integer":
		if known, ok := intFormats[s.str("format")]; ok && slices.Contains(catalog.HeaderTypes, known.kind) {
			return known.kind
		}
		return "int64"
	}
	return ""
}

// yamlOfHeaders divides the headers into those that all events have, and policies for single events. Each is nil
// if there are none.
func (r *asyncReader) yamlOfHeaders() (general, policies *yaml.Node) {
	if len(r.eventHeaders) == 0 {
		return nil, nil
	}
	general, policies = mapping(), mapping()
	first := r.eventHeaders[0].bodies
	for i := 0; i+1 < len(first.Content); i += 2 {
		if len(r.eventHeaders) == len(r.events.Content)/2 && r.everyEventHas(first.Content[i].Value, first.Content[i+1]) {
			general.Content = append(general.Content, first.Content[i], first.Content[i+1])
		}
	}
	for _, e := range r.eventHeaders {
		own := mapping()
		for i := 0; i+1 < len(e.bodies.Content); i += 2 {
			if find(general, e.bodies.Content[i].Value) < 0 {
				own.Content = append(own.Content, e.bodies.Content[i], e.bodies.Content[i+1])
			}
		}
		if own.Content != nil {
			policy := mapping()
			r.add(policy, "headers", own, e.at)
			r.add(policies, e.event, policy, e.at)
		}
	}
	if general.Content == nil {
		general = nil
	}
	if policies.Content == nil {
		policies = nil
	}
	return general, policies
}

// everyEventHas tells whether all events have a header with the same body.
func (r *asyncReader) everyEventHas(name string, body *yaml.Node) bool {
	for _, e := range r.eventHeaders {
		i := find(e.bodies, name)
		if i < 0 || !slices.EqualFunc(e.bodies.Content[i].Content, body.Content, func(a, b *yaml.Node) bool { return a.Value == b.Value }) {
			return false
		}
	}
	return true
}
