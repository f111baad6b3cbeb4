package events

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/files"
	"github.com/busgen/busgen/internal/catalog/parse/names"
	"github.com/busgen/busgen/internal/catalog/parse/settings"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/catalog/parse/types"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/internal/payload"
	"github.com/busgen/busgen/internal/setting"
)

// Events are the events of one catalogue.
type Events struct {
	*text.Reader
	names         *names.Names
	parts         *files.Parts
	types         *types.Types
	settings      *settings.Settings
	subscriptions *Subscriptions
	declared      *settings.Declared
}

// New returns a reader of the events of one catalogue, which declares what it reads in declared.
func New(names *names.Names, parts *files.Parts, types *types.Types, settings *settings.Settings,
	subscriptions *Subscriptions, declared *settings.Declared) *Events {
	return &Events{names.Reader, names, parts, types, settings, subscriptions, declared}
}

// Read reads `events:` of all files. Each event's Settings are only its own; policies let it inherit the rest.
func (r *Events) Read() []*catalog.Event {
	entries := r.parts.Sections("events", "event")
	r.checkSomeEvents()
	r.declared.None = len(entries) == 0
	r.declared.Incomplete = r.declared.None || r.parts.Incomplete
	for _, e := range entries {
		if ev := r.event(e); ev != nil {
			r.declared.Events = append(r.declared.Events, ev)
		}
	}
	return r.declared.Events
}

// checkSomeEvents reports a catalogue without events, at the first place where some should be.
// One with types may be there for other catalogues.
func (r *Events) checkSomeEvents() {
	for _, e := range r.parts.Written("types") {
		if len(e.Value.Content) > 0 {
			return
		}
	}
	var empty *yaml.Node
	for _, e := range r.parts.Written("events") {
		switch {
		case e.Value.Kind != yaml.MappingNode || len(e.Value.Content) > 0:
			return // some, or a finding
		case empty == nil:
			empty = e.Value
		}
	}
	switch {
	case empty != nil:
		r.Report(r.Place(empty), rules.NoEvents, "the catalogue has no events").
			Hint = "declare one here, such as order.placed: {}, or types for other catalogues"
	case !r.parts.Incomplete:
		r.Report(r.Place(r.parts.Root().Node), rules.NoEvents, "the catalogue has no events").
			Hint = "declare one under the key events"
	}
}

// event returns nil if the name is refused; what is inside is checked anyway.
func (r *Events) event(e text.Entry) *catalog.Event {
	nameErr := glob.ValidName(e.Name)
	if nameErr != nil {
		r.names.SyntaxOf(e.Name, e.Key, nameErr, rules.BadName, "event %s does not have a valid name: %s")
	}
	keys := append([]string{"doc", "deprecated", "owner", "tags", "go_name", "wire", "schema", "aliases", "version", "json_names", "mixins", "payload", "result", "reserved", "history", "examples", "partition_by", "dedupe_by", "await_by", "subscriptions"}, setting.Keys...)
	o, _ := r.Object(e.Value, "event "+diag.Label(e.Name), keys...)
	local := catalog.Value[string]{V: e.Name, Pos: r.Position(e.Key)}
	ev := &catalog.Event{Name: local, Local: local, GoName: r.names.GoName(e.Name)}
	if ev.OwnWire = r.ownWire(o); ev.OwnWire.Written() {
		ev.Name.V = ev.OwnWire.V
	}
	ev.Doc, ev.Deprecated, ev.Owner, ev.Tags = r.Doc(e.Key, o), r.Deprecated(o), r.owner(o), r.tags(o)
	ev.GoName, ev.Schema = r.names.OwnGoName(o, ev.GoName), r.names.SchemaName(o)
	ev.Aliases, ev.Version = r.eventAliases(o), r.eventVersion(o)
	ev.Reserved = r.names.Reserved(o)
	names := r.names.JSONNames(o, r.names.NamesIn(e.Key))
	before := len(r.Findings)
	r.payloadOf(ev, o, names)
	payloadOK := len(r.Findings) == before && (ev.Mixins == nil || r.types.HasMixins())
	ev.Result = r.result(o)
	ev.History = r.history(o, ev, names)
	r.types.Resolve()
	r.declared.BrokenPayloads[ev] = !payloadOK || !r.types.OK
	ev.Examples = r.examples(o, ev.Fields, payloadOK && r.types.OK)
	ev.PartitionBy = partitionKey.of(r.Reader, o, ev.Fields, payloadOK)
	_, keyed := o.Entries["partition_by"]
	r.declared.BrokenKeys[ev] = keyed && ev.PartitionBy == nil
	ev.DedupeBy = dedupeKey.of(r.Reader, o, ev.Fields, payloadOK)
	ev.AwaitBy = awaitKey.of(r.Reader, o, ev.Fields, payloadOK)
	ev.Settings = r.settings.Of(o)
	ev.Subscriptions = r.subscriptions.ofEvent(o, ev.GoName)
	if nameErr != nil {
		r.declared.Incomplete = true
		return nil
	}
	return ev
}

// payloadOf reads the payload of an event: its own fields, and its mixins.
func (r *Events) payloadOf(ev *catalog.Event, o text.Object, names catalog.JSONNames) {
	what := "payload of " + o.What
	payload := &catalog.Type{Name: ev.Local, Reserved: ev.Reserved}
	r.types.StructOf(o, "payload", payload, types.Owner{What: what, GoName: ev.GoName, JSONNames: names})
	r.types.Resolve()
	ev.Fields, ev.Mixins, ev.Reserved = payload.Fields, payload.Mixins, payload.Reserved
}

// result reads the type of the answers to an event: its text, or a mapping with a doc beside it. It is nil
// without one, and after a finding about it.
func (r *Events) result(o text.Object) *catalog.Result {
	e, ok := o.Entries["result"]
	if !ok {
		return nil
	}
	what := "result of " + o.What
	result := &catalog.Result{Pos: r.Position(e.Key)}
	if e.Value.Kind != yaml.MappingNode {
		result.Type, result.Doc = r.types.TypeRef(e.Value, what, nil), r.CommentAbove(e.Key)
	} else {
		long, _ := r.Object(e.Value, what, "type", "doc")
		result.Doc = r.Doc(e.Key, long)
		if e, ok := long.Entries["type"]; ok {
			result.Type = r.types.TypeRef(e.Value, what, nil)
		} else {
			r.Required(long, "type", "add one, such as type: string")
		}
	}
	if result.Type == nil {
		return nil
	}
	return result
}

// CheckSamples makes up the payloads of events without an example, and reports those of which no payload can be made
// up.
func (r *Events) CheckSamples() {
	bytes := 0
	for _, e := range r.declared.Events {
		if len(e.Examples) > 0 {
			continue
		}
		text, problem := payload.Sample(e)
		if e.MadeUp = text; problem != nil {
			r.Report(r.NameAt(e.Name), rules.Example, "busgen cannot generate an example of event %s: %s", e.Label(), problem).
				Hint = "add one under its key examples"
		}
		if bytes += len(text); bytes > maxSamples {
			r.Report(r.NameAt(e.Name), rules.Example, "the generated examples would be larger than %d MiB in total", maxSamples>>20).
				Hint = "add short ones under the key examples of events with large payloads, or make several catalogues"
			return
		}
	}
}

// maxSamples limits the bytes of all payloads that are made up. One line of a catalogue can declare an event
// whose payload is a thousand times as large.
var maxSamples = 64 << 20 // a variable for tests

// examples reads `examples:` of an event, and holds each against the payload if that could be read.
func (r *Events) examples(o text.Object, fields []*catalog.Field, payloadOK bool) []*catalog.Example {
	e, ok := o.Entries["examples"]
	if !ok {
		return nil
	}
	if e.Value.Kind != yaml.SequenceNode {
		r.WrongKind(e.Value, "examples of "+o.What, "a list of payloads")
		return nil
	}
	if len(e.Value.Content) == 0 {
		r.Report(r.Place(e.Value), rules.Example, "examples of %s is empty", o.What).
			Hint = "add a payload, or remove the key"
	}
	var examples []*catalog.Example
	t := &catalog.TypeRef{Kind: catalog.Named, Named: &catalog.Type{Fields: fields}}
	for i, item := range e.Value.Content {
		what := fmt.Sprintf("example %d of %s", i+1, o.What)
		if text, ok := types.JSON(r.Reader, item, what, t, payloadOK, rules.Example); ok {
			examples = append(examples, &catalog.Example{JSON: text, Pos: r.Position(item)})
		}
	}
	return examples
}

// keyField is a key of an event that names a field of its payload.
type keyField struct {
	name string
	rule *diag.Rule
	need string // why every event needs a value
	open bool   // the file keeps the values beside the payloads, so they must not be sensitive
}

var (
	partitionKey = keyField{"partition_by", rules.Partition, "events without a value would have no order", false}
	dedupeKey    = keyField{"dedupe_by", rules.Dedupe, "events without a value would be stored twice", false}
	awaitKey     = keyField{"await_by", rules.Await, "handlers could not wait for events without a value", true}
)

// of finds the field that the key names. A payload with findings of its own may be
// missing that field for another reason.
func (k keyField) of(r *text.Reader, o text.Object, fields []*catalog.Field, payloadOK bool) *catalog.Field {
	name, n := r.TextOf(o, k.name)
	if n == nil {
		return nil
	}
	f, names := types.FieldNamed(fields, name.V)
	switch {
	case f != nil:
		k.checkType(r, r.Place(n), o.What, f)
	case payloadOK:
		r.Report(r.Place(n), k.rule, "%s of %s names %q, which is not a field of its payload", k.name, o.What, name.V).
			Hint = diag.DidYouMean(name.V, names)
	}
	return f
}

func (k keyField) checkType(r *text.Reader, at diag.Place, what string, f *catalog.Field) {
	switch {
	case f.Type.MayBeNil():
		r.Report(at, k.rule, "%s of %s names %s, which %s", k.name, what, f.Label(), types.Lack(f.Type)).
			See(r.TypeAt(f.Type), "the field is here").
			Hint = "choose a required field: " + k.need
	case !types.CanBeKey(f.Type):
		r.Report(at, k.rule, "%s of %s names %s, which has type %s", k.name, what, f.Label(), f.Type.Text).
			See(r.TypeAt(f.Type), "the field is here").
			Hint = types.KeyTypes
	case k.open && f.Sensitive.V:
		r.Report(at, k.rule, "%s of %s names %s, which is sensitive", k.name, what, f.Label()).
			See(r.TypeAt(f.Type), "the field is here").
			Hint = "choose another field, such as an id: the file keeps the keys beside the payloads, in clear text"
	}
}
