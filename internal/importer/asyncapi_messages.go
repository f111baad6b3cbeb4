package importer

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/importer/draft"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/names"
	"github.com/busgen/busgen/internal/importer/payloads"
	"github.com/busgen/busgen/internal/importer/schema"
	"github.com/busgen/busgen/internal/importer/tree"
	"github.com/busgen/busgen/internal/importer/types"
)

// message makes events of a message, once: one, or one of each payload that it can have. There are
// none after a finding. A message that is written again in another channel, word for word, is the same.
func (r *asyncReader) message(m tree.Member, key string) []*asyncEvent {
	n, last := r.schemas.Led(m.Value)
	if !n.Is(tree.Object) {
		return nil
	}
	if events, ok := r.made[n]; ok {
		return events
	}
	if m.Value != n {
		key = last
	}
	r.made[n] = nil
	name := messageName(n, key)
	for _, other := range r.alike[name] {
		if tree.Same(n, other) {
			r.made[n] = r.made[other]
			return r.made[n]
		}
	}
	r.alike[name] = append(r.alike[name], n)
	payload := r.payload(n)
	if payload == nil && n.Get("payload") != nil {
		return nil
	}
	all := []payloads.Alternative{{At: m.At}}
	if payload != nil {
		all = r.payloads.Of(payload)
	}
	if len(all) == 1 {
		r.made[n] = r.messageEvent(n, messageLabel(n, key), name, m.At, all[0].Schema, r.examplesIn(n))
		return r.made[n]
	}
	examples := r.payloads.Divide(r.examplesIn(n), all, func(e *tree.Node) *tree.Node { return e.Get("payload") })
	payloads.Name(all, name)
	for i := range all {
		if !strings.HasPrefix(all[i].Name, name+".") {
			all[i].Name = name + "." + names.Snake(all[i].Name)
		}
		r.types.Reserve(all[i].Name)
	}
	for i, a := range all {
		r.made[n] = append(r.made[n], r.messageEvent(n, a.Name, a.Name, a.At, a.Schema, examples[i])...)
	}
	return r.made[n]
}

// examplesIn are the examples of a message. Some documents have them in other files.
func (r *asyncReader) examplesIn(message *tree.Node) (all []*tree.Node) {
	for _, e := range message.Get("examples").Elements() {
		if e = r.schemas.Followed(e); e != nil {
			all = append(all, e)
		}
	}
	return all
}

// messageEvent makes an event of a message with one of its payloads.
func (r *asyncReader) messageEvent(n *tree.Node, name, wire string, at diag.Place, payload *tree.Node,
	examples []*tree.Node) []*asyncEvent {
	e := &asyncEvent{settings: n.Get("x-busgen").Get("settings")}
	e.body = r.event(name, wire, at, payload, func(body *yaml.Node, u *schema.Use) {
		r.payloadName(body, u) // before what u says of the schema is what the message says
		r.describe(body, u, n, examples)
	})
	if e.body == nil {
		return nil
	}
	e.name = r.catalogue.Events.Content[len(r.catalogue.Events.Content)-2].Value
	r.settings(e.body, e.settings, builtIn())
	r.schedulesOf(e.name, n.Get("x-busgen").Get("schedules"))
	r.headers(e.name, n)
	return []*asyncEvent{e}
}

// payloadName says what the document calls the schema of a payload.
func (r *asyncReader) payloadName(body *yaml.Node, u *schema.Use) {
	if u.Def == nil || r.schemas.IsPart(u.Def) {
		return
	}
	before := r.payloadNames[u.Name]
	if before == nil && r.types.TakesSchemaName(u.Name) {
		before = u.Def
		r.payloadNames[u.Name] = u.Def
	}
	if before == u.Def { // messages may share it
		r.catalogue.Add(body, "schema", draft.Text(u.Name), u.Def.Place)
	}
}

// payload is the schema of a message's payload; nil if there is none, or it is in a language
// that is not JSON Schema.
func (r *asyncReader) payload(n *tree.Node) *tree.Node {
	payload := n.Get("payload")
	format, at := n.Str("schemaFormat"), n.At("schemaFormat")
	if other := r.schemas.Followed(payload); schema.IsMultiFormat(other) {
		format, at = other.Str("schemaFormat"), other.At("schemaFormat")
	}
	if !schema.IsJSONSchema(format) {
		r.Report(at, rules.ImportPayload, "the payload is described in %s; the event is left out", findings.Quote(format)).
			Hint = "only JSON Schema is read"
		return nil
	}
	if of := n.Str("contentType"); of != "" && !strings.Contains(of, "json") {
		r.Report(n.At("contentType"), rules.ImportPayload, "the content is %s; that of an event is JSON", findings.Quote(of))
	}
	return payload
}

// messageKeys are those that an event has a counterpart for.
var messageKeys = []string{"name", "messageId", "title", "summary", "description", "headers", "traits", "payload",
	"schemaFormat", "contentType", "deprecated", "tags", "examples", "x-busgen"}

// result adds the type of the answers to an event, as busgen exports it.
func (r *asyncReader) result(body *yaml.Node, s *tree.Node) {
	if s == nil {
		return
	}
	t := r.types.TypeOf(s, types.Spot{GoName: "Result", Field: "of"})
	if t.Fields != nil {
		r.Note(s.Place, "the answer to an event has a type with a name; this one is left out")
		return
	}
	kind := t.Text
	if t.Use.Nullable && !t.HasNil() {
		kind += catalog.NullMark
	}
	result := draft.Mapping()
	r.types.Say(result, t.Use, types.Saying{OfType: r.types.IsType(t.Use.Def)})
	if result.Content == nil {
		r.catalogue.Add(body, "result", draft.Notation(kind), s.Place)
		return
	}
	r.catalogue.Add(result, "type", draft.Notation(kind), s.Place)
	r.catalogue.Add(body, "result", result, s.Place)
}

// describe adds what is said of a message beside its payload.
func (r *asyncReader) describe(body *yaml.Node, u *schema.Use, n *tree.Node, examples []*tree.Node) {
	for _, key := range []string{"owner", "partition_by", "dedupe_by", "await_by"} {
		r.catalogue.AddText(body, key, n.Get("x-busgen").Str(key), n.At("x-busgen"))
	}
	r.result(body, n.Get("x-busgen").Get("result"))
	r.tags(body, n.Get("tags"))
	for _, e := range examples {
		if payload := e.Get("payload"); payload != nil {
			u.Examples = append(u.Examples, payload)
		}
		if e.Get("headers") != nil {
			r.Note(e.At("headers"), "a catalogue has no place for the headers of an example")
		}
	}
	if u.Def != nil { // what is said of a schema is not said of this message
		u.Title, u.Description, u.Deprecated = nil, nil, nil
	}
	if title := n.Get("title"); title.Is(tree.Text) {
		u.Title, u.Def = title, nil
	}
	if n.Get("deprecated").IsTrue() && u.Deprecated == nil {
		u.Deprecated = n.Get("deprecated")
	}
	r.doc(u, n)
	r.noPlace(n, "a message", messageKeys...)
}

// doc puts together what a message and its payload say.
func (r *asyncReader) doc(u *schema.Use, n *tree.Node) {
	var parts []string
	var at *tree.Node
	add := func(said *tree.Node) {
		if !said.Is(tree.Text) {
			return
		}
		sentence := strings.TrimSpace(said.Text)
		for _, p := range parts {
			if rest, _ := types.SplitReason(sentence); rest == p {
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
	if n.Get("summary").Is(tree.Text) && strings.TrimSpace(n.Str("summary")) != strings.TrimSpace(n.Str("description")) {
		add(n.Get("summary"))
	}
	add(n.Get("description"))
	add(u.Description)
	if at != nil {
		u.Description = tree.NewText(at.Place, strings.Join(parts, "\n\n"))
	}
}

// tags are words in a catalogue.
func (r *asyncReader) tags(body *yaml.Node, tags *tree.Node) {
	l := draft.Flow(&yaml.Node{Kind: yaml.SequenceNode})
	taken := map[string]bool{}
	for _, t := range tags.Elements() {
		if t.Get("$ref") != nil {
			t, _ = r.schemas.Resolve(t)
		}
		name := t.Str("name")
		word := name
		if !catalog.TagName.MatchString(word) {
			word = names.Joined(name, "-")
		}
		if word == "" || taken[word] {
			continue
		}
		if word != name {
			r.Note(t.At("name"), "the tag %s is %s in a catalogue", findings.Quote(name), word)
		}
		if t.Get("description") != nil {
			r.Note(t.At("description"), "a catalogue has no place for the description of a tag")
		}
		taken[word] = true
		item := draft.Text(word)
		r.catalogue.SetPlace(item, t.Place)
		l.Content = append(l.Content, item)
	}
	if l.Content != nil {
		r.catalogue.Add(body, "tags", l, tags.Place)
	}
}
