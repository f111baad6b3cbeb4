package export

import (
	"reflect"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/plainjson"
)

// asyncSchema is the dialect of AsyncAPI 3.0, which extends draft 07.
var asyncSchema = dialect{refs: "#/components/schemas/"}

// Info has what AsyncAPI needs and a catalogue does not have.
type Info struct {
	Title   string // the catalogue's package if empty
	Version string // of the application, such as 1.2.0
}

// AsyncAPI returns an AsyncAPI 3.0 document: a channel for each event type, an
// operation that publishes each, and one for each subscription that an event declares. What
// AsyncAPI cannot express is under x-busgen. Keys are what the catalogue calls an event, because those of AsyncAPI
// are restricted; the address of a channel and the name of a message are the name on the wire.
func AsyncAPI(c *catalog.Catalogue, info Info) ([]byte, error) {
	if info.Title == "" {
		info.Title = c.Package.V
	}
	types := typesIn(c)
	d := asyncSchema.naming(c.Events, types)
	channels, operations, messages, schemas := object{}, object{}, object{}, object{}
	for _, t := range types {
		schemas.add(d.name(t), d.named(t))
	}
	for _, e := range c.Events {
		channels.add(e.Label(), channel(e))
		operations.add("publish."+e.Label(), operation("send", e.Label(), e.Doc, nil))
		for _, s := range e.Subscriptions {
			one := operation("receive", e.Label(), s.Doc, object{{"settings", settings(e, s.Settings)}})
			if s.Group != nil {
				one = operation("receive", e.Label(), s.Doc, object{{"group", s.Group.Name.V}, {"settings", settings(e, s.Settings)}})
			}
			operations.add("handle."+s.Name.V, one)
		}
		messages.add(e.Label(), d.message(e, d.payloadIn(&schemas, e)))
	}
	components := object{{"messages", messages}}
	if len(schemas) > 0 {
		components.set("schemas", schemas)
	}
	document := object{
		{"asyncapi", "3.0.0"},
		{"info", object{{"title", info.Title}, {"version", info.Version}}},
		{"defaultContentType", "application/json"},
		{"channels", channels},
		{"operations", operations},
		{"components", components},
	}
	own := object{}
	if len(c.Limits) > 0 {
		own.set("limits", limits(c))
	}
	if len(c.Subscriptions) > 0 {
		own.set("subscriptions", patternSubscriptions(c))
	}
	if len(own) > 0 {
		document.set("x-busgen", own)
	}
	return plainjson.Document(document)
}

// limits returns the limits as a catalogue declares them.
func limits(c *catalog.Catalogue) object {
	all := object{}
	for _, l := range c.Limits {
		s := object{}
		s.text("doc", l.Doc)
		if l.AtOnce > 0 {
			s.set("at_once", l.AtOnce)
		}
		if l.Rate > 0 {
			s.set("rate", l.RateText())
		}
		all.add(l.Name, s)
	}
	return all
}

func channel(e *catalog.Event) object {
	s := object{{"address", e.Name.V}}
	s.text("description", e.Doc)
	s.set("messages", object{{e.Label(), reference("#/components/messages/" + e.Label())}})
	return s
}

func operation(action, event, doc string, own object) object {
	s := object{{"action", action}, {"channel", reference("#/channels/" + event)}}
	s.text("description", doc)
	s.set("messages", []object{reference("#/channels/" + event + "/messages/" + event)})
	if own != nil {
		s.set("x-busgen", own)
	}
	return s
}

// payloadIn is the schema of an event's payload. One that has a name is among schemas, and referred to; unless something
// else has the name there. Events whose payloads have the same fields can share it.
func (d dialect) payloadIn(schemas *object, e *catalog.Event) object {
	if !e.Schema.Written() {
		return d.payload(e)
	}
	s := object{}
	d.fields(&s, e.Fields)
	switch same := schemas.get(e.Schema.V); {
	case same == nil:
		schemas.add(e.Schema.V, s)
	case !reflect.DeepEqual(same, s):
		return d.payload(e)
	}
	return reference(d.refs + e.Schema.V)
}

func (d dialect) message(e *catalog.Event, payload object) object {
	s := object{{"name", e.Name.V}, {"title", e.GoName}}
	s.text("description", e.Doc)
	if e.Deprecated.Written() {
		s.set("deprecated", true)
	}
	if len(e.Tags) > 0 {
		var tags []object
		for _, tag := range e.Tags {
			tags = append(tags, object{{"name", tag.V}})
		}
		s.set("tags", tags)
	}
	if len(e.Headers) > 0 {
		s.set("headers", d.headers(e))
	}
	s.set("payload", payload)
	if len(e.Examples) > 0 {
		var examples []object
		for _, example := range e.Examples {
			examples = append(examples, object{{"payload", example.JSON}})
		}
		s.set("examples", examples)
	}
	own := object{}
	own.text("owner", e.Owner.V)
	if e.PartitionBy != nil {
		own.set("partition_by", e.PartitionBy.Name.V)
	}
	if e.DedupeBy != nil {
		own.set("dedupe_by", e.DedupeBy.Name.V)
	}
	if e.AwaitBy != nil {
		own.set("await_by", e.AwaitBy.Name.V)
	}
	if e.Result != nil { // it travels on no channel, so it is no reply
		result := d.typeOf(e.Result.Type, catalog.Constraints{})
		result.text("description", e.Result.Doc)
		own.set("result", result)
	}
	if len(e.Schedules) > 0 {
		own.set("schedules", schedules(e.Schedules))
	}
	own.set("settings", settings(e, e.Settings))
	s.set("x-busgen", own)
	return s
}

// headers returns the schema of the headers of an event, sorted by name. In the metadata of the bus each is a text.
func (d dialect) headers(e *catalog.Event) object {
	properties, required := object{}, []string{}
	for _, h := range slices.SortedFunc(slices.Values(e.Headers), func(a, b *catalog.Header) int { return strings.Compare(a.Name.V, b.Name.V) }) {
		one := d.typeOf(h.Type, catalog.Constraints{})
		one.text("description", h.Doc)
		properties.add(h.Name.V, one)
		if h.Required.V {
			required = append(required, h.Name.V)
		}
	}
	s := object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		s.set("required", required)
	}
	return s
}

// schedules returns what publishes an event, with the keys of the catalogue.
func schedules(list []*catalog.Schedule) (all []object) {
	for _, s := range list {
		one := object{{"name", s.Name.V}}
		one.text("doc", s.Doc)
		one.text("cron", s.Cron.V)
		if s.Every.V > 0 {
			one.set("every", catalog.Short(s.Every.V))
		}
		one.text("time_zone", s.Zone.V)
		one.set("missed", s.Missed.V)
		one.set("payload", s.Payload)
		all = append(all, one)
	}
	return all
}

func reference(to string) object { return object{{"$ref", to}} }

// settings returns the settings in force by key, such as retry.max_attempts. Limits and breakers are by names in JSON.
func settings(e *catalog.Event, s catalog.Settings) object {
	all := object{}
	for _, setting := range s.List() {
		all.set(setting.Key, setting.Value)
	}
	if len(s.Limits.V) > 0 {
		var uses []string
		for _, use := range s.Limits.V {
			uses = append(uses, useInJSON(e, use))
		}
		all.set("limits", uses)
	}
	if b := s.Breaker; b.By.Written() && !b.Off.V {
		all.set("breaker.by", inJSON(e, b.By.V))
	}
	return all
}

// useInJSON returns mail by customer.email with names in JSON, or bank.
func useInJSON(e *catalog.Event, use *catalog.LimitUse) string {
	if !use.By.Written() {
		return use.Limit.Name
	}
	return use.Limit.Name + " by " + inJSON(e, use.By.V)
}

// inJSON returns the path of a key with names in JSON.
func inJSON(e *catalog.Event, path string) string {
	for _, key := range e.LimitKeys {
		if key.Path == path {
			var names []string
			for _, f := range key.Fields {
				names = append(names, f.Name.V)
			}
			return strings.Join(names, ".")
		}
	}
	return path
}
