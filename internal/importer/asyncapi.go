package importer

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/format"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/internal/importer/draft"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/names"
	"github.com/busgen/busgen/internal/importer/tree"
)

// asyncAPI reads an AsyncAPI document of version 3, 2 or 1. A message becomes an event, what the program receives a
// subscription of it, and components/schemas become types.
func (im *importer) asyncAPI() {
	version := im.root.Str("asyncapi")
	major, _, _ := strings.Cut(version, ".")
	if version == "" || major != "1" && major != "2" && major != "3" {
		im.Report(im.root.At("asyncapi"), rules.ImportDocument, "this is not an AsyncAPI document of version 1, 2 or 3").
			Hint = "it needs a key asyncapi with the version, such as 3.0.0"
		return
	}
	if im.Event != "" {
		im.Report(im.root.Place, rules.ImportDocument, "the messages have names of their own, so no event can be named %s",
			findings.Quote(im.Event))
		return
	}
	r := newAsyncReader(im)
	r.reserveNames()
	for _, m := range r.root.Get("x-busgen").Get("limits").Properties() {
		r.catalogue.Add(r.catalogue.Limits, m.Name, r.catalogue.Value(m.Value), m.At)
	}
	switch major {
	case "1":
		r.topics1()
	case "2":
		r.channels2()
	default:
		r.channels3()
		r.operations3()
	}
	components := im.root.Get("components")
	for _, m := range components.Get("messages").Properties() {
		r.message(m, m.Name)
	}
	schemas := components.Get("schemas")
	if len(r.made) == 0 { // it is a library of schemas
		im.definedEvents(im.eventDefs(schemas.Properties()))
		if len(im.catalogue.Events.Content) > 0 {
			im.Note(schemas.Place, "the document has no message, so the schemas that no other refers to are the events")
		}
	}
	r.patternSubscriptions()
	r.divideHeaders()
	im.declareAll(schemas.Properties())
	r.rest(components)
}

// An asyncReader reads an AsyncAPI document.
type asyncReader struct {
	*importer
	made          map[*tree.Node][]*asyncEvent // by message
	alike         map[string][]*tree.Node      // messages by name
	payloadNames  map[string]*tree.Node        // the schemas that payloads have, by their names
	subscriptions names.Taken
	eventHeaders  []eventHeaders
}

func newAsyncReader(im *importer) *asyncReader {
	return &asyncReader{importer: im, made: map[*tree.Node][]*asyncEvent{}, alike: map[string][]*tree.Node{},
		payloadNames: map[string]*tree.Node{}, subscriptions: names.Taken{}}
}

// An asyncEvent is an event that was made of a message.
type asyncEvent struct {
	name          string
	body          *yaml.Node
	settings      *tree.Node // that are its own
	subscriptions *yaml.Node // nil for none
}

// reserveNames keeps types from taking the Go names of events.
func (r *asyncReader) reserveNames() {
	for _, m := range r.root.Get("components").Get("messages").Properties() {
		r.types.Reserve(messageLabel(m.Value, m.Name))
	}
}

// messageName is the name of a message, or else what it is called in the document.
func messageName(m *tree.Node, key string) string {
	for _, name := range []string{m.Str("name"), key, m.Str("messageId")} {
		if names.Event(name) != "" || names.IsWire(name) {
			return name
		}
	}
	return key
}

// messageLabel is what the event of a message is called in the catalogue: the key, in what a catalogue was exported to.
func messageLabel(m *tree.Node, key string) string {
	if m.Get("x-busgen") != nil && glob.ValidName(key) == nil {
		return key
	}
	return messageName(m, key)
}

// subscribe adds subscriptions to the events of a message.
func (r *asyncReader) subscribe(events []*asyncEvent, name string, at tree.Member, description *tree.Node) {
	for _, e := range events {
		r.subscribeTo(e, name, at, description)
	}
}

func (r *asyncReader) subscribeTo(e *asyncEvent, name string, at tree.Member, description *tree.Node) {
	wanted := strings.TrimPrefix(name, "handle.")
	if !catalog.SubscriptionName.MatchString(wanted) || len(wanted) > format.MaxSubscriptionName {
		wanted = names.Joined(wanted, "-")
		if wanted == "" || len(wanted) > format.MaxSubscriptionName {
			wanted = "subscription"
		}
	}
	free := r.subscriptions.Unique(wanted)
	if free != strings.TrimPrefix(name, "handle.") {
		r.Rename(findings.Subscription, name, free, at.At)
	}
	if e.subscriptions == nil {
		e.subscriptions = draft.Mapping()
		r.catalogue.Add(e.body, "subscriptions", e.subscriptions, at.At)
	}
	body := draft.Mapping()
	if description.Is(tree.Text) {
		r.catalogue.AddText(body, "doc", strings.TrimSpace(description.Text), description.Place)
	}
	r.catalogue.AddText(body, "group", at.Value.Get("x-busgen").Str("group"), at.Value.At("x-busgen"))
	base := builtIn()
	if e.settings != nil {
		clear(base) // all of them are there
	}
	for _, m := range e.settings.Properties() {
		base[m.Name] = settingText(m.Value)
	}
	if own := at.Value.Get("x-busgen").Get("settings"); own != nil {
		r.settings(body, own.Without("priority"), base)
	}
	r.catalogue.Add(e.subscriptions, free, body, at.At)
}

// noPlace notes the members of n that are not known: a catalogue has no place for them.
func (im *importer) noPlace(n *tree.Node, what string, known ...string) {
	for _, m := range n.Properties() {
		if !slices.Contains(known, m.Name) {
			im.Note(m.At, "a catalogue has no place for %s of %s", m.Name, what)
		}
	}
}

// rest reports what no event and no type was made of.
func (r *asyncReader) rest(components *tree.Node) {
	const contentType = "defaultContentType"
	if of := r.root.Get(contentType); of != nil && !strings.Contains(of.Text, "json") {
		r.Report(r.root.At(contentType), rules.ImportPayload, "the content is %s; that of an event is JSON",
			findings.Quote(of.Text))
	}
	r.noPlace(r.root, "the document", "asyncapi", "info", "channels", "topics", "operations", "components", "x-busgen",
		contentType)
	r.noPlace(r.root.Get("info"), "info", "title", "version")
	r.noPlace(components, "components", "messages", "schemas")
}
