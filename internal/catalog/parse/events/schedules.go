package events

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/files"
	"github.com/busgen/busgen/internal/catalog/parse/names"
	"github.com/busgen/busgen/internal/catalog/parse/settings"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/catalog/parse/types"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/schedule"
)

// scheduleKeys are the keys of an entry of `schedules:`.
var scheduleKeys = []string{"doc", "event", "cron", "every", "time_zone", "missed", "payload"}

var everyLimits = text.Span{Least: schedule.MinEvery, Most: 365 * 24 * time.Hour}

// schedules reads the schedules of one catalogue.
type schedules struct {
	*text.Reader
	names    *names.Names
	declared *settings.Declared
	events   map[string]*catalog.Event // by what the catalogue calls them
}

// ReadSchedules reads `schedules:` of all files, when the events are known.
func ReadSchedules(names *names.Names, parts *files.Parts, declared *settings.Declared) (all []*catalog.Schedule) {
	r := &schedules{names.Reader, names, declared, map[string]*catalog.Event{}}
	for _, e := range declared.Events {
		r.events[e.Label()] = e
	}
	for _, e := range parts.Sections("schedules", "schedule") {
		if s := r.schedule(e); s != nil {
			s.Event.Schedules = append(s.Event.Schedules, s)
			all = append(all, s)
		}
	}
	return all
}

// schedule returns nil unless the name and the event of the schedule are right.
func (r *schedules) schedule(e text.Entry) *catalog.Schedule {
	what := "schedule " + diag.Label(e.Name)
	nameOK := r.names.CheckName(e.Name, e.Key, what, "nightly-report")
	o, ok := r.Object(e.Value, what, scheduleKeys...)
	if !ok {
		return nil
	}
	s := &catalog.Schedule{Name: catalog.Value[string]{V: e.Name, Pos: r.Position(e.Key)}, Doc: r.Doc(e.Key, o)}
	s.Event = r.scheduledEvent(o)
	r.times(o, s)
	s.Missed = r.Word(o, "missed", schedule.Missed())
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
func (r *schedules) scheduledEvent(o text.Object) *catalog.Event {
	e, ok := r.Required(o, "event", "name an event of the catalogue: event: report.requested")
	if !ok {
		return nil
	}
	text, ok := r.Text(e.Value, "event of "+o.What)
	if !ok {
		return nil
	}
	event := r.events[text.V]
	if event == nil && !r.declared.Incomplete {
		var names []string
		for name := range r.events {
			names = append(names, name)
		}
		r.Report(r.Place(e.Value), rules.Schedule, "%s is for event %s, which the catalogue does not have", o.What, diag.Label(text.V)).
			Hint = diag.DidYouMean(text.V, names)
	}
	return event
}

// times reads when a schedule is due.
func (r *schedules) times(o text.Object, s *catalog.Schedule) {
	cron, hasCron := o.Entries["cron"]
	every, hasEvery := o.Entries["every"]
	zone, hasZone := o.Entries["time_zone"]
	switch {
	case hasCron && hasEvery:
		r.Report(r.Place(every.Key), rules.Schedule, "%s has both cron and every", o.What).
			See(r.Place(cron.Key), "cron is here").
			Hint = "remove one of them"
	case !hasCron && !hasEvery:
		r.Report(r.Place(o.Node), rules.Schedule, "%s does not say when", o.What).
			Hint = `add a cron expression, as in cron: "0 3 * * *", or an interval, as in every: 15m`
	case hasEvery && hasZone:
		r.Report(r.Place(zone.Key), rules.Schedule, "%s has a time zone, but an interval is the same in all of them", o.What).
			Hint = "remove it"
	}
	s.Every = r.Duration(o, "every", everyLimits)
	if hasCron {
		s.Cron = r.cron(cron, o.What)
	}
	if !hasZone {
		return
	}
	name, ok := r.Text(zone.Value, "time_zone of "+o.What)
	if !ok {
		return
	}
	s.Zone = name
	if _, err := schedule.LoadZone(name.V); err != nil || name.V == "" {
		r.Report(r.Place(zone.Value), rules.Schedule, "time_zone of %s is %s, which is no time zone that busgen knows", o.What, diag.Label(name.V)).
			Hint = "use a name of the IANA database, such as Europe/Berlin or America/New_York, or leave it out for UTC"
	}
}

func (r *schedules) cron(e text.Entry, what string) catalog.Value[string] {
	text, ok := r.Text(e.Value, "cron of "+what)
	if !ok {
		return text
	}
	_, err := schedule.ParseCron(text.V)
	bad, isBad := errors.AsType[*schedule.Error](err)
	if !isBad {
		return text
	}
	at := r.Place(e.Value)
	if rest := text.V[min(bad.Offset, len(text.V)):]; rest != "" && bad.Offset > 0 {
		at = r.PlaceIn(e.Value, bad.Offset, wordLength(rest))
	}
	r.Report(at, rules.Schedule, "cron of %s: %s", what, bad.Message).Hint = bad.Hint
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

// scheduledPayload reads the payload of a schedule's events. Required fields that it does not have get their default.
func (r *schedules) scheduledPayload(o text.Object, event *catalog.Event) json.RawMessage {
	what, n := "payload of "+o.What, o.Node
	filled := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line, Column: n.Column}
	if e, ok := o.Entries["payload"]; ok {
		if n = e.Value; n.Kind != yaml.MappingNode {
			r.WrongKind(n, what, "a mapping")
			return nil
		}
		*filled = *n
	}
	written := slices.Clip(filled.Content)
	filled.Content = written
	for _, f := range event.Fields {
		if !f.Default.Written() || f.Type.MayBeNil() || hasKey(written, f.Name.V) {
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
	t := &catalog.TypeRef{Kind: catalog.Named, Named: &catalog.Type{Fields: event.Fields}}
	payload, _ := types.JSON(r.Reader, filled, what, t, !r.declared.BrokenPayloads[event], rules.Schedule)
	return payload
}

// hasKey tells whether one of the keys of a mapping is key.
func hasKey(content []*yaml.Node, key string) bool {
	for i := 0; i+1 < len(content); i += 2 {
		if content[i].Value == key {
			return true
		}
	}
	return false
}
