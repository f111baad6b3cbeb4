package importer

import (
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/tree"
)

// openAPI reads the webhooks of an OpenAPI document of version 3. Webhooks are under webhooks since 3.1, and under x-webhooks
// before; callbacks of operations and under components are some as well. Each becomes an event, and the schemas that they use
// become types.
func (im *importer) openAPI() {
	version := im.root.Str("openapi")
	switch {
	case im.root.Get("swagger") != nil:
		im.Report(im.root.At("swagger"), rules.ImportDocument, "this is a document of Swagger 2, which has no webhooks").
			Hint = "convert it to OpenAPI 3"
		return
	case !strings.HasPrefix(version, "3."):
		im.Report(im.root.At("openapi"), rules.ImportDocument, "this is not an OpenAPI document of version 3").
			Hint = "it needs a key openapi with the version, such as 3.1.0"
		return
	case im.Event != "":
		im.Report(im.root.Place, rules.ImportDocument, "the webhooks have names of their own, so no event can be named %s",
			findings.Quote(im.Event))
		return
	}
	r := newAsyncReader(im)
	hooks := im.webhooks()
	if hooks == nil {
		im.Report(im.root.Place, rules.ImportDocument, "the document has neither webhooks nor callbacks").
			Hint = "only what a service sends by itself is an event; operations under paths are not imported"
		return
	}
	var all []webhook
	for _, h := range hooks {
		all = append(all, im.requestsOf(h)...)
	}
	for _, h := range all {
		r.types.Reserve(messageLabel(h.message, h.name))
	}
	for _, h := range all {
		r.message(tree.NewMember(h.name, h.at.At, h.message), h.name)
	}
}

// A webhook is a request that a service makes, as a message.
type webhook struct {
	name    string
	at      tree.Member
	message *tree.Node
}

// webhooks are the path items of the requests that the service itself makes, by name.
func (im *importer) webhooks() []tree.Member {
	all := slices.Concat(im.root.Get("webhooks").Properties(), im.root.Get("x-webhooks").Properties())
	for _, p := range im.root.Get("paths").Properties() {
		item := im.schemas.Followed(p.Value)
		for _, operation := range item.Properties() {
			for _, c := range operation.Value.Get("callbacks").Properties() {
				all = append(all, im.callback(c)...)
			}
		}
	}
	for _, c := range im.root.Get("components").Get("callbacks").Properties() {
		if im.references[c.Value] == 0 { // no operation has it under a name of its own
			all = append(all, im.callback(c)...)
		}
	}
	// The same callback of several operations is one.
	first := map[string]*tree.Node{}
	return slices.DeleteFunc(all, func(m tree.Member) bool {
		if first[m.Name] == nil {
			first[m.Name] = m.Value
			return false
		}
		return tree.Same(first[m.Name], m.Value)
	})
}

// callback is the path items of a callback, under its name.
func (im *importer) callback(c tree.Member) (all []tree.Member) {
	callback := im.schemas.Followed(c.Value)
	for _, expression := range callback.Properties() {
		if expression.Value.Is(tree.Object) {
			all = append(all, tree.NewMember(c.Name, c.At, expression.Value))
		}
	}
	return all
}

// methods are those whose requests can have a body.
var methods = []string{"post", "put", "patch", "delete", "get", "query"}

// requestsOf makes messages of the requests of a path item.
func (im *importer) requestsOf(h tree.Member) (all []webhook) {
	item := im.schemas.Followed(h.Value)
	var operations []tree.Member
	for _, m := range item.Properties() {
		if slices.Contains(methods, m.Name) && m.Value.Get("requestBody") != nil {
			operations = append(operations, m)
		}
	}
	if len(operations) == 0 && item != nil {
		im.Report(h.At, rules.ImportPayload, "the webhook %s has no request with a body; the event is left out",
			findings.Quote(h.Name))
	}
	for _, op := range operations {
		name := h.Name
		if len(operations) > 1 {
			name += "." + op.Name
		}
		if message := im.requestOf(name, op); message != nil {
			all = append(all, webhook{name, h, message})
		}
	}
	return all
}

// requestOf makes a message of an operation; nil after a finding.
func (im *importer) requestOf(name string, op tree.Member) *tree.Node {
	body := im.schemas.Followed(op.Value.Get("requestBody"))
	media := jsonOf(body.Get("content"))
	if media.Name == "" {
		im.Report(op.Value.At("requestBody"), rules.ImportPayload, "the body of %s is not JSON; the event is left out",
			findings.Quote(name))
		return nil
	}
	message := tree.NewObject(op.At)
	add := func(keyword string, at *tree.Node) {
		if at != nil {
			message.Add(keyword, at.Place, at)
		}
	}
	for _, keyword := range []string{"summary", "description", "deprecated"} {
		add(keyword, op.Value.Get(keyword))
	}
	if op.Value.Get("description") == nil {
		add("description", body.Get("description"))
	}
	add("tags", tagsOf(op.Value.Get("tags")))
	add("payload", media.Value.Get("schema"))
	add("examples", im.examplesOf(media.Value))
	if schema := media.Value.Get("schema"); schema == nil {
		add("payload", tree.NewObject(media.At))
	}
	for _, m := range op.Value.Members {
		switch m.Name {
		case "summary", "description", "deprecated", "tags", "requestBody", "responses", "security", "servers":
		case "parameters":
			im.Report(m.At, rules.ImportKeyword, "the parameters of a webhook have no counterpart in a catalogue").
				Hint = "put what handlers need into the payload, or into the metadata of an event"
		default:
			im.Note(m.At, "a catalogue has no place for %s of a webhook", m.Name)
		}
	}
	return message
}

// jsonOf is the content that is JSON.
func jsonOf(content *tree.Node) tree.Member {
	for _, m := range content.Properties() {
		mediaType, _, _ := strings.Cut(strings.ToLower(m.Name), ";")
		if mediaType = strings.TrimSpace(mediaType); mediaType == "*/*" || strings.HasSuffix(mediaType, "json") {
			return m
		}
	}
	return tree.Member{}
}

// tagsOf are tags as AsyncAPI has them.
func tagsOf(tags *tree.Node) *tree.Node {
	if len(tags.Elements()) == 0 {
		return nil
	}
	all := tree.NewList(tags.Place)
	for _, t := range tags.Items {
		all.Items = append(all.Items, tree.NewObject(t.Place).Add("name", t.Place, t))
	}
	return all
}

// examplesOf are the examples of some content as AsyncAPI has them.
func (im *importer) examplesOf(media *tree.Node) *tree.Node {
	all := tree.NewList(media.Place)
	add := func(payload *tree.Node) {
		all.Items = append(all.Items, tree.NewObject(payload.Place).Add("payload", payload.Place, payload))
	}
	if one := media.Get("example"); one != nil {
		add(one)
	}
	for _, m := range media.Get("examples").Properties() {
		example := im.schemas.Followed(m.Value)
		if value := example.Get("value"); value != nil {
			add(value)
		} else if example.Get("externalValue") != nil {
			im.Note(m.At, "an example that is somewhere else is left out")
		}
	}
	if all.Items == nil {
		return nil
	}
	return all
}
