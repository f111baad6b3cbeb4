package importer

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/format"
	"github.com/busgen/busgen/internal/glob"
)

// AsyncAPI makes a catalogue of an AsyncAPI document of version 3, 2 or 1, in JSON or YAML; file is
// only its name in findings. A message becomes an event, what the program receives a
// subscription of it, and components/schemas become types.
func AsyncAPI(file string, source []byte, o Options) *Result {
	return run(file, source, o, (*importer).asyncAPI)
}

func (im *importer) asyncAPI() {
	version := im.root.str("asyncapi")
	major, _, _ := strings.Cut(version, ".")
	if version == "" || major != "1" && major != "2" && major != "3" {
		im.report(im.root.at("asyncapi"), rules.ImportDocument, "this is not an AsyncAPI document of version 1, 2 or 3").Hint = "it needs a key asyncapi with the version, such as 3.0.0"
		return
	}
	if im.Event != "" {
		im.report(im.root.place, rules.ImportDocument, "the messages have names of their own, so no event can be named %s", quoted(im.Event))
		return
	}
	r := newAsyncReader(im)
	r.reserveNames()
	im.limits = r.yamlOfLimits()
	switch major {
	case "1":
		r.topics1()
	case "2":
		r.channels2()
	default:
		r.channels3()
		r.operations3()
	}
	components := im.root.get("components")
	for _, m := range components.get("messages").properties() {
		r.message(m, m.name)
	}
	schemas := components.get("schemas")
	if len(r.made) == 0 { // it is a library of schemas
		im.definedEvents(im.eventDefs(schemas.properties()))
		if len(im.events.Content) > 0 {
			im.note(schemas.place, "the document has no message, so the schemas that no other refers to are the events")
		}
	}
	im.patterns = r.patternSubscriptions()
	im.headers, im.policies = r.yamlOfHeaders()
	im.declareAll(schemas.properties())
	r.rest(components)
}

// An asyncReader reads an AsyncAPI document.
type asyncReader struct {
	*importer
	made          map[*node][]*asyncEvent // by message
	alike         map[string][]*node      // messages by name
	payloadNames  map[string]*node        // the schemas that payloads have, by their names
	subscriptions names
	eventHeaders  []eventHeaders
}

func newAsyncReader(im *importer) *asyncReader {
	return &asyncReader{importer: im, made: map[*node][]*asyncEvent{}, alike: map[string][]*node{}, payloadNames: map[string]*node{}, subscriptions: names{}}
}

// An asyncEvent is an event that was made of a message.
type asyncEvent struct {
	name          string
	body          *yaml.Node
	settings      *node      // that are its own
	subscriptions *yaml.Node // nil for none
}

// reserveNames keeps types from taking the Go names of events.
func (r *asyncReader) reserveNames() {
	for _, m := range r.root.get("components").get("messages").properties() {
		r.reserve(messageLabel(m.value, m.name))
	}
}

// messageName is the name of a message, or else what it is called in the document.
func messageName(m *node, key string) string {
	for _, name := range []string{m.str("name"), key, m.str("messageId")} {
		if eventName(name) != "" || isWire(name) {
			return name
		}
	}
	return key
}

// messageLabel is what the event of a message is called in the catalogue: the key, in what a catalogue was exported to.
func messageLabel(m *node, key string) string {
	if m.get("x-busgen") != nil && glob.ValidName(key) == nil {
		return key
	}
	return messageName(m, key)
}

// subscribe adds subscriptions to the events of a message.
func (r *asyncReader) subscribe(events []*asyncEvent, name string, at member, description *node) {
	for _, e := range events {
		r.subscribeTo(e, name, at, description)
	}
}

func (r *asyncReader) subscribeTo(e *asyncEvent, name string, at member, description *node) {
	wanted := strings.TrimPrefix(name, "handle.")
	if !catalog.SubscriptionName.MatchString(wanted) || len(wanted) > format.MaxSubscriptionName {
		wanted = joined(wanted, "-")
		if wanted == "" || len(wanted) > format.MaxSubscriptionName {
			wanted = "subscription"
		}
	}
	free := r.subscriptions.unique(wanted)
	if free != strings.TrimPrefix(name, "handle.") {
		r.rename(aSubscription, name, free, at.at)
	}
	if e.subscriptions == nil {
		e.subscriptions = mapping()
		r.add(e.body, "subscriptions", e.subscriptions, at.at)
	}
	body := mapping()
	if description.is(text) {
		r.addText(body, "doc", strings.TrimSpace(description.text), description.place)
	}
	r.addText(body, "group", at.value.get("x-busgen").str("group"), at.value.at("x-busgen"))
	base := builtIn()
	if e.settings != nil {
		clear(base) // all of them are there
	}
	for _, m := range e.settings.properties() {
		base[m.name] = settingText(m.value)
	}
	if own := at.value.get("x-busgen").get("settings"); own != nil {
		r.settings(body, own.without("priority"), base)
	}
	r.add(e.subscriptions, free, body, at.at)
}

// rest reports what no event and no type was made of.
func (r *asyncReader) rest(components *node) {
	for _, m := range r.root.members {
		switch m.name {
		case "asyncapi", "info", "channels", "topics", "operations", "components", "x-busgen":
		case "defaultContentType":
			if !strings.Contains(m.value.text, "json") {
				r.report(m.at, rules.ImportPayload, "the content is %s; that of an event is JSON", quoted(m.value.text))
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
