package parse

import (
	"encoding/json"
	"errors"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/schedule"
)

// scheduleKeys are the keys of an entry of `schedules:`.
var scheduleKeys = []string{"doc", "event", "cron", "every", "time_zone", "missed", "payload"}

var everyLimits = span{least: schedule.MinEvery, most: 365 * 24 * time.Hour}

// Schedules are the schedules of one catalogue.
type Schedules struct {
	*Reader
	names    *Names
	parts    *Parts
	declared *declared
}

func newSchedules(names *Names, parts *Parts, declared *declared) *Schedules {
	return &Schedules{names.Reader, names, parts, declared}
}

// section reads `schedules:` of all files, when the events are known.
func (r *Schedules) section() []*catalog.Schedule {
	named := map[string]*catalog.Event{}
	for _, e := range r.declared.events {
		named[e.Label()] = e
	}
	var all []*catalog.Schedule
	for _, e := range r.parts.sections("schedules", "schedule") {
		if s := r.schedule(e, named); s != nil {
			s.Event.Schedules = append(s.Event.Schedules, s)
			all = append(all, s)
		}
	}
	return all
}

// schedule returns nil unless the name and the event of the schedule are right.
func (r *Schedules) schedule(e entry, events map[string]*catalog.Event) *catalog.Schedule {
	what := "schedule " + diag.Label(e.name)
	nameOK := r.names.checkName(e.name, e.key, what, "nightly-report")
	o, ok := r.object(e.value, what, scheduleKeys...)
	if !ok {
		return nil
	}
	s := &catalog.Schedule{Name: catalog.Value[string]{V: e.name, Pos: r.position(e.key)}, Doc: r.doc(e.key, o)}
	s.Event = r.scheduledEvent(o, events)
	r.times(o, s)
	s.Missed = oneOf(r.Reader, o, "missed", schedule.Missed(), func(word string) (string, bool) {
		for _, known := range schedule.Missed() {
			if word == known {
				return word, true
			}
		}
		return "", false
	})
	if s.Missed.V == "" {
		s.Missed.V = schedule.Once
	}
	if s.Event == nil || !nameOK {
		return nil
	}
	s.Payload = r.scheduledPayload(o, s.Event)
	return s
}

// scheduledEvent returns the event that a schedule names, or nil.
func (r *Schedules) scheduledEvent(o object, events map[string]*catalog.Event) *catalog.Event {
	e, ok := r.required(o, "event", "name an event of the catalogue: event: report.requested")
	if !ok {
		return nil
	}
	text, ok := r.text(e.value, "event of "+o.what)
	if !ok {
		return nil
	}
	event := events[text.V]
	if event == nil && !r.declared.incomplete {
		var names []string
		for name := range events {
			names = append(names, name)
		}
		r.report(r.place(e.value), rules.Schedule, "%s is for event %s, which the catalogue does not have", o.what, diag.Label(text.V)).
			Hint = diag.DidYouMean(text.V, names)
	}
	return event
}

// times reads when a schedule is due.
func (r *Schedules) times(o object, s *catalog.Schedule) {
	cron, hasCron := o.entries["cron"]
	every, hasEvery := o.entries["every"]
	zone, hasZone := o.entries["time_zone"]
	switch {
	case hasCron && hasEvery:
		r.report(r.place(every.key), rules.Schedule, "%s has both cron and every", o.what).
			See(r.place(cron.key), "cron is here").
			Hint = "remove one of them"
	case !hasCron && !hasEvery:
		r.report(r.place(o.node), rules.Schedule, "%s does not say when", o.what).
			Hint = `add a cron expression, as in cron: "0 3 * * *", or an interval, as in every: 15m`
	case hasEvery && hasZone:
		r.report(r.place(zone.key), rules.Schedule, "%s has a time zone, but an interval is the same in all of them", o.what).
			Hint = "remove it"
	}
	s.Every = r.duration(o, "every", everyLimits)
	if hasCron {
		s.Cron = r.cron(cron, o.what)
	}
	if !hasZone {
		return
	}
	name, ok := r.text(zone.value, "time_zone of "+o.what)
	if !ok {
		return
	}
	s.Zone = name
	if _, err := schedule.LoadZone(name.V); err != nil || name.V == "" {
		r.report(r.place(zone.value), rules.Schedule, "time_zone of %s is %s, which is no time zone that busgen knows", o.what, diag.Label(name.V)).
			Hint = "use a name of the IANA database, such as Europe/Berlin or America/New_York, or leave it out for UTC"
	}
}

func (r *Schedules) cron(e entry, what string) catalog.Value[string] {
	text, ok := r.text(e.value, "cron of "+what)
	if !ok {
		return text
	}
	_, err := schedule.ParseCron(text.V)
	bad, isBad := errors.AsType[*schedule.Error](err)
	if !isBad {
		return text
	}
	at := r.place(e.value)
	if rest := text.V[min(bad.Offset, len(text.V)):]; rest != "" && bad.Offset > 0 {
		at = r.placeIn(e.value, bad.Offset, wordLength(rest))
	}
	r.report(at, rules.Schedule, "cron of %s: %s", what, bad.Message).Hint = bad.Hint
	return text
}

// wordLength returns the length of what comes before the next blank or comma.
func wordLength(text string) int {
	for i, c := range text {
		if i > 0 && (c == ' ' || c == '\t' || c == ',' || c == '/') {
			return i
		}
	}
	return len(text)
}

// scheduledPayload reads the payload of a schedule's events. Required fields that it does
// not have get their default.
func (r *Schedules) scheduledPayload(o object, event *catalog.Event) json.RawMessage {
	n := o.node
	if e, ok := o.entries["payload"]; ok {
		n = e.value
	}
	filled := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column}
	if _, ok := o.entries["payload"]; ok {
		if n.Kind != yaml.MappingNode {
			r.wrongKind(n, "payload of "+o.what, "a mapping")
			return nil
		}
		*filled = *n
		filled.Content = append([]*yaml.Node(nil), n.Content...)
	}
	for _, f := range event.Fields {
		if !f.Default.Written() || f.Type.MayBeNil() || hasKey(n, o, f.Name.V) {
			continue
		}
		var value yaml.Node
		if yaml.Unmarshal(f.Default.V, &value) != nil || len(value.Content) != 1 {
			continue // a finding about the default itself
		}
		scalar := value.Content[0]
		scalar.Line, scalar.Column, scalar.Style = n.Line, n.Column, 0
		key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: f.Name.V, Line: n.Line, Column: n.Column}
		filled.Content = append(filled.Content, key, scalar)
	}
	payload, _ := JSON(r.Reader, filled, "payload of "+o.what, &catalog.TypeRef{Kind: catalog.Named, Named: &catalog.Type{Fields: event.Fields}},
		!r.declared.brokenPayloads[event], rules.Schedule)
	return payload
}

// hasKey tells whether a written payload has a key.
func hasKey(n *yaml.Node, o object, key string) bool {
	if n == o.node {
		return false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}
