package parse

import (
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
)

// Events are the events of one catalogue.
type Events struct {
	*Reader
	names         *Names
	parts         *Parts
	types         *Types
	settings      *Settings
	subscriptions *Subscriptions
	declared      *declared
}

func newEvents(names *Names, parts *Parts, types *Types, settings *Settings, subscriptions *Subscriptions, declared *declared) *Events {
	return &Events{names.Reader, names, parts, types, settings, subscriptions, declared}
}

// section reads `events:` of all files. Each event's Settings are only its own;
// policies.go lets it inherit the rest.
func (r *Events) section() []*catalog.Event {
	entries := r.parts.sections("events", "event")
	r.checkSomeEvents()
	r.declared.none = len(entries) == 0
	r.declared.incomplete = r.declared.none || r.parts.incomplete
	for _, e := range entries {
		if ev := r.event(e); ev != nil {
			r.declared.events = append(r.declared.events, ev)
		}
	}
	return r.declared.events
}

// checkSomeEvents reports a catalogue without events, at the first place where some should be.
// One with types may be there for other catalogues.
func (r *Events) checkSomeEvents() {
	for _, e := range r.parts.written("types") {
		if len(e.value.Content) > 0 {
			return
		}
	}
	var empty *yaml.Node
	for _, e := range r.parts.written("events") {
		switch {
		case e.value.Kind != yaml.MappingNode || len(e.value.Content) > 0:
			return // some, or a finding
		case empty == nil:
			empty = e.value
		}
	}
	switch {
	case empty != nil:
		r.report(r.place(empty), rules.NoEvents, "the catalogue has no events").
			Hint = "declare one here, such as order.placed: {}, or types for other catalogues"
	case !r.parts.incomplete:
		r.report(r.place(r.parts.root().node), rules.NoEvents, "the catalogue has no events").
			Hint = "declare one under the key events"
	}
}

// event returns nil if the name is refused; what is inside is checked anyway.
func (r *Events) event(e entry) *catalog.Event {
	nameErr := glob.ValidName(e.name)
	if nameErr != nil {
		r.names.syntaxOf(e.name, e.key, nameErr, rules.BadName, "event %s does not have a valid name: %s")
	}
	keys := append([]string{"doc", "deprecated", "owner", "tags", "go_name", "wire", "schema", "aliases", "version", "json_names", "mixins", "payload", "result", "reserved", "history", "examples", "partition_by", "dedupe_by", "subscriptions"}, settingKeys...)
	o, _ := r.object(e.value, "event "+diag.Label(e.name), keys...)
	local := catalog.Value[string]{V: e.name, Pos: r.position(e.key)}
	ev := &catalog.Event{Name: local, Local: local, GoName: r.names.goName(e.name)}
	if ev.OwnWire = r.ownWire(o); ev.OwnWire.Written() {
		ev.Name.V = ev.OwnWire.V
	}
	ev.Doc, ev.Deprecated, ev.Owner, ev.Tags = r.doc(e.key, o), r.deprecated(o), r.owner(o), r.tags(o)
	ev.GoName, ev.Schema = r.names.ownGoName(o, ev.GoName), r.names.schemaName(o)
	ev.Aliases, ev.Version = r.eventAliases(o), r.eventVersion(o)
	ev.Reserved = r.names.reserved(o)
	names := r.names.jsonNames(o, r.names.namesIn(e.key))
	before := len(r.findings)
	r.payloadOf(ev, o, names)
	payloadOK := len(r.findings) == before && (ev.Mixins == nil || r.types.hasMixins())
	ev.Result = r.result(o)
	ev.History = r.history(o, ev, names)
	r.types.resolve()
	r.declared.brokenPayloads[ev] = !payloadOK || !r.types.ok
	ev.Examples = r.examples(o, ev.Fields, payloadOK && r.types.ok)
	ev.PartitionBy = partitionKey.of(r.Reader, o, ev.Fields, payloadOK)
	_, keyed := o.entries["partition_by"]
	r.declared.brokenKeys[ev] = keyed && ev.PartitionBy == nil
	ev.DedupeBy = dedupeKey.of(r.Reader, o, ev.Fields, payloadOK)
	ev.Settings = r.settings.settings(o)
	ev.Subscriptions = r.subscriptions.ofEvent(o, ev.GoName)
	if nameErr != nil {
		r.declared.incomplete = true
		return nil
	}
	return ev
}

// payloadOf reads the payload of an event: its own fields, and its mixins.
func (r *Events) payloadOf(ev *catalog.Event, o object, names catalog.JSONNames) {
	what := "payload of " + o.what
	payload := &catalog.Type{Name: ev.Local, Reserved: ev.Reserved}
	r.types.structOf(o, "payload", payload, owner{what: what, goName: ev.GoName, json: names})
	r.types.resolve()
	ev.Fields, ev.Mixins, ev.Reserved = payload.Fields, payload.Mixins, payload.Reserved
}

// result reads the type of the answers to an event: its text, or a mapping with a doc beside it. It is nil
// without one, and after a finding about it.
func (r *Events) result(o object) *catalog.Result {
	e, ok := o.entries["result"]
	if !ok {
		return nil
	}
	what := "result of " + o.what
	result := &catalog.Result{Pos: r.position(e.key)}
	if e.value.Kind != yaml.MappingNode {
		result.Type, result.Doc = r.types.typeRef(e.value, what, nil), r.commentAbove(e.key)
	} else {
		long, _ := r.object(e.value, what, "type", "doc")
		result.Doc = r.doc(e.key, long)
		if e, ok := long.entries["type"]; ok {
			result.Type = r.types.typeRef(e.value, what, nil)
		} else {
			r.required(long, "type", "add one, such as type: string")
		}
	}
	if result.Type == nil {
		return nil
	}
	return result
}
