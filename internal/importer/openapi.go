package importer

import (
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag/rules"
)

// OpenAPI makes a catalogue of the webhooks of an OpenAPI document of version 3, in JSON or YAML; file is only its name
// in findings. Webhooks are under webhooks since 3.1, and under x-webhooks before; callbacks of operations and under
// components are some as well. Each becomes an event, and the schemas that they use become types.
func OpenAPI(file string, source []byte, o Options) *Result {
	return run(file, source, o, (*importer).openAPI)
}

func (im *importer) openAPI() {
	version := im.root.str("openapi")
	switch {
	case im.root.get("swagger") != nil:
		im.report(im.root.at("swagger"), rules.ImportDocument, "this is a document of Swagger 2, which has no webhooks").Hint = "convert it to OpenAPI 3"
		return
	case !strings.HasPrefix(version, "3."):
		im.report(im.root.at("openapi"), rules.ImportDocument, "this is not an OpenAPI document of version 3").Hint = "it needs a key openapi with the version, such as 3.1.0"
		return
	case im.Event != "":
		im.report(im.root.place, rules.ImportDocument, "the webhooks have names of their own, so no event can be named %s", quoted(im.Event))
		return
	}
	r := newAsyncReader(im)
	hooks := im.webhooks()
	if hooks == nil {
		im.report(im.root.place, rules.ImportDocument, "the document has neither webhooks nor callbacks").Hint = "only what a service sends by itself is an event; operations under paths are not imported"
		return
	}
	var all []webhook
	for _, h := range hooks {
		all = append(all, im.requestsOf(h)...)
	}
	for _, h := range all {
		r.reserve(messageLabel(h.message, h.name))
	}
	for _, h := range all {
		r.message(newMember(h.name, h.at.at, h.message), h.name)
	}
}

// A webhook is a request that a service makes, as a message.
type webhook struct {
	name    string
	at      member
	message *node
}

// webhooks are the path items of the requests that the service itself makes, by name.
func (im *importer) webhooks() []member {
	all := slices.Concat(im.root.get("webhooks").properties(), im.root.get("x-webhooks").properties())
	for _, p := range im.root.get("paths").properties() {
		item := im.followed(p.value)
		for _, operation := range item.properties() {
			for _, c := range operation.value.get("callbacks").properties() {
				all = append(all, im.callback(c)...)
			}
		}
	}
	for _, c := range im.root.get("components").get("callbacks").properties() {
		if im.references[c.value] == 0 { // no operation has it under a name of its own
			all = append(all, im.callback(c)...)
		}
	}
	// The same callback of several operations is one.
	first := map[string]*node{}
	return slices.DeleteFunc(all, func(m member) bool {
		if first[m.name] == nil {
			first[m.name] = m.value
			return false
		}
		return same(first[m.name], m.value)
	})
}

// callback is the path items of a callback, under its name.
func (im *importer) callback(c member) (all []member) {
	callback := im.followed(c.value)
	for _, expression := range callback.properties() {
		if expression.value.is(object) {
			all = append(all, newMember(c.name, c.at, expression.value))
		}
	}
	return all
}

// methods are those whose requests can have a body.
var methods = []string{"post", "put", "patch", "delete", "get", "query"}

// requestsOf makes messages of the requests of a path item.
func (im *importer) requestsOf(h member) (all []webhook) {
	item := im.followed(h.value)
	var operations []member
	for _, m := range item.properties() {
		if slices.Contains(methods, m.name) && m.value.get("requestBody") != nil {
			operations = append(operations, m)
		}
	}
	if len(operations) == 0 && item != nil {
		im.report(h.at, rules.ImportPayload, "the webhook %s has no request with a body; the event is left out", quoted(h.name))
	}
	for _, op := range operations {
		name := h.name
		if len(operations) > 1 {
			name += "." + op.name
		}
		if message := im.requestOf(name, op); message != nil {
			all = append(all, webhook{name, h, message})
		}
	}
	return all
}

// requestOf makes a message of an operation; nil after a finding.
func (im *importer) requestOf(name string, op member) *node {
	body := im.followed(op.value.get("requestBody"))
	media := jsonOf(body.get("content"))
	if media.name == "" {
		im.report(op.value.at("requestBody"), rules.ImportPayload, "the body of %s is not JSON; the event is left out", quoted(name))
		return nil
	}
	message := newObject(op.at)
	add := func(keyword string, at *node) {
		if at != nil {
			message.add(keyword, at.place, at)
		}
	}
	for _, keyword := range []string{"summary", "description", "deprecated"} {
		add(keyword, op.value.get(keyword))
	}
	if op.value.get("description") == nil {
		add("description", body.get("description"))
	}
	add("tags", tagsOf(op.value.get("tags")))
	add("payload", media.value.get("schema"))
	add("examples", im.examplesOf(media.value))
	if schema := media.value.get("schema"); schema == nil {
		add("payload", newObject(media.at))
	}
	for _, m := range op.value.members {
		switch m.name {
		case "summary", "description", "deprecated", "tags", "requestBody", "responses", "security", "servers":
		case "parameters":
			im.report(m.at, rules.ImportKeyword, "the parameters of a webhook have no counterpart in a catalogue").Hint = "put what handlers need into the payload, or into the metadata of an event"
		default:
			im.note(m.at, "a catalogue has no place for %s of a webhook", m.name)
		}
	}
	return message
}

// jsonOf is the content that is JSON.
func jsonOf(content *node) member {
	for _, m := range content.properties() {
		mediaType, _, _ := strings.Cut(strings.ToLower(m.name), ";")
		if mediaType = strings.TrimSpace(mediaType); mediaType == "*/*" || strings.HasSuffix(mediaType, "json") {
			return m
		}
	}
	return member{}
}

// tagsOf are tags as AsyncAPI has them.
func tagsOf(tags *node) *node {
	if len(tags.elements()) == 0 {
		return nil
	}
	all := newList(tags.place)
	for _, t := range tags.items {
		all.items = append(all.items, newObject(t.place).add("name", t.place, t))
	}
	return all
}

// examplesOf are the examples of some content as AsyncAPI has them.
func (im *importer) examplesOf(media *node) *node {
	all := newList(media.place)
	add := func(payload *node) {
		all.items = append(all.items, newObject(payload.place).add("payload", payload.place, payload))
	}
	if one := media.get("example"); one != nil {
		add(one)
	}
	for _, m := range media.get("examples").properties() {
		example := im.followed(m.value)
		if value := example.get("value"); value != nil {
			add(value)
		} else if example.get("externalValue") != nil {
			im.note(m.at, "an example that is somewhere else is left out")
		}
	}
	if all.items == nil {
		return nil
	}
	return all
}
