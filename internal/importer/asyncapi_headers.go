package importer

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/importer/draft"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/schema"
	"github.com/busgen/busgen/internal/importer/tree"
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
func (r *asyncReader) headers(event string, message *tree.Node) {
	all := eventHeaders{event: event, at: message.At("headers"), bodies: draft.Mapping()}
	parts := 0
	r.headersOf(all.bodies, message.Get("headers"), &parts)
	for _, t := range message.Get("traits").Elements() {
		trait := r.schemas.Followed(t)
		if all.bodies.Content == nil && trait.Get("headers") != nil {
			all.at = trait.At("headers")
		}
		r.headersOf(all.bodies, trait.Get("headers"), &parts)
		for _, m := range trait.Properties() {
			if m.Name != "headers" {
				r.Report(m.At, rules.ImportKeyword,
					"the traits of a message have no counterpart in a catalogue, apart from headers").
					Hint = "write what is in the trait into the message"
				break
			}
		}
	}
	if all.bodies.Content != nil {
		r.eventHeaders = append(r.eventHeaders, all)
	}
}

// headersOf adds the headers that a schema describes, also by parts of it. Headers that were described before stay.
func (r *asyncReader) headersOf(bodies *yaml.Node, headers *tree.Node, parts *int) {
	if headers == nil {
		return
	}
	s := r.schemas.Followed(headers)
	if schema.IsMultiFormat(s) {
		if !schema.IsJSONSchema(s.Str("schemaFormat")) {
			r.Report(s.At("schemaFormat"), rules.ImportPayload, "the headers are described in %s; they are left out",
				findings.Quote(s.Str("schemaFormat"))).
				Hint = "only JSON Schema is read"
			return
		}
		s = r.schemas.Followed(s.Get("schema"))
	}
	if *parts++; s == nil || *parts > maxHeaderParts {
		return
	}
	var required []string
	for _, name := range s.Get("required").Elements() {
		required = append(required, name.Text)
	}
	for _, m := range s.Get("properties").Properties() {
		if draft.Get(bodies, m.Name) != nil {
			continue
		}
		schema := r.schemas.Followed(m.Value)
		kind := r.headerType(schema)
		if kind == "" {
			r.Report(m.At, rules.ImportKeyword, "the header %s has no type that headers of a catalogue have; it is left out",
				findings.Quote(m.Name)).
				Hint = "its value is one text in the metadata of an event: put it into the payload, or set it with WithMetadata"
			continue
		}
		body := draft.Mapping()
		r.catalogue.Add(body, "type", draft.Text(kind), m.At)
		if doc := schema.Get("description"); doc.Is(tree.Text) {
			r.catalogue.AddText(body, "doc", strings.TrimSpace(doc.Text), doc.Place)
		}
		if slices.Contains(required, m.Name) {
			r.catalogue.Add(body, "required", draft.Plain("true"), m.At)
		}
		for _, more := range schema.Properties() {
			if !slices.Contains([]string{"type", "format", "description", "title", "examples", "example", "minimum", "maximum",
				"pattern"}, more.Name) && !strings.HasPrefix(more.Name, "x-") {
				r.Note(more.At, "a catalogue has no place for %s of a header", more.Name)
			}
		}
		r.catalogue.Add(bodies, m.Name, body, m.At)
	}
	for _, part := range s.Get("allOf").Elements() {
		r.headersOf(bodies, part, parts)
	}
	for _, m := range s.Properties() {
		if slices.Contains([]string{"anyOf", "oneOf", "if", "not", "patternProperties"}, m.Name) {
			r.Report(m.At, rules.ImportKeyword, "%s of headers has no counterpart in a catalogue", m.Name).
				Hint = "name each header under properties"
		}
	}
}

// headerType is the type of a header in a catalogue; empty if there is none.
func (r *asyncReader) headerType(s *tree.Node) string {
	switch s.Str("type") {
	case "string":
		if kind, _ := schema.TextKind(s); slices.Contains(catalog.HeaderTypes, kind) {
			return kind
		}
		return "string"
	case "boolean":
		return "bool"
	case "number":
		return "float64"
	case "integer":
		if known, ok := schema.IntFormats[s.Str("format")]; ok && slices.Contains(catalog.HeaderTypes, known.Kind) {
			return known.Kind
		}
		return "int64"
	}
	return ""
}

// divideHeaders divides the headers into those that all events have, and policies for single events.
func (r *asyncReader) divideHeaders() {
	if len(r.eventHeaders) == 0 {
		return
	}
	general := r.catalogue.Headers
	first := r.eventHeaders[0].bodies
	for i := 0; i+1 < len(first.Content); i += 2 {
		if len(r.eventHeaders) == len(r.catalogue.Events.Content)/2 &&
			r.everyEventHas(first.Content[i].Value, first.Content[i+1]) {
			general.Content = append(general.Content, first.Content[i], first.Content[i+1])
		}
	}
	for _, e := range r.eventHeaders {
		own := draft.Mapping()
		for i := 0; i+1 < len(e.bodies.Content); i += 2 {
			if draft.Get(general, e.bodies.Content[i].Value) == nil {
				own.Content = append(own.Content, e.bodies.Content[i], e.bodies.Content[i+1])
			}
		}
		if own.Content != nil {
			policy := draft.Mapping()
			r.catalogue.Add(policy, "headers", own, e.at)
			r.catalogue.Add(r.catalogue.Policies, e.event, policy, e.at)
		}
	}
}

// everyEventHas tells whether all events have a header with the same body.
func (r *asyncReader) everyEventHas(name string, body *yaml.Node) bool {
	for _, e := range r.eventHeaders {
		own := draft.Get(e.bodies, name)
		if own == nil || !slices.EqualFunc(own.Content, body.Content, func(a, b *yaml.Node) bool {
			return a.Value == b.Value
		}) {
			return false
		}
	}
	return true
}
