package tuning

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// A comparison compares the catalogue of the program with that of a file.
type comparison struct {
	tuning  runtime.Tuning
	report  Report
	file    string
	classes map[string]bool // the error classes that the program knows
	limits  map[string]bool // the limits that it has
}

// compare returns the settings of the file that can be applied to the program, and a report of all differences.
func compare(built *runtime.Catalogue, file *catalog.Catalogue) (runtime.Tuning, Report) {
	c := comparison{
		tuning:  runtime.Tuning{Types: map[string]declare.Settings{}, Subscriptions: map[string]declare.Settings{}, Limits: map[string]declare.Limit{}, Patterns: map[string]declare.Override{}},
		file:    file.File,
		classes: map[string]bool{},
		limits:  map[string]bool{},
	}
	c.allLimits(built.Limits(), file.Limits)
	events := map[string]*catalog.Event{}
	for _, e := range file.Events {
		events[e.Name.V] = e
	}
	for _, t := range built.Types() {
		c.eventType(built, t, events[t.Name()])
		delete(events, t.Name())
	}
	for _, e := range file.Events {
		if events[e.Name.V] != nil {
			c.needsBuild(e.Name.Pos, "event type %s is new", e.Name.V)
		}
	}
	c.patterns(built, file)
	for _, class := range file.ErrorClasses {
		if !c.classes[class.Name.V] {
			c.needsBuild(class.Name.Pos, "error class %s is new: no error is of this class before the program registers it", class.Name.V)
		}
	}
	return c.tuning, c.report
}

func (c *comparison) needsBuild(pos diag.Position, format string, args ...any) {
	at := pos.String()
	if !pos.IsKnown() {
		at = c.file
	}
	c.report.NeedsBuild = append(c.report.NeedsBuild, at+": "+fmt.Sprintf(format, args...))
}

// eventType compares an event type of the program with e, which has the same name in the file.
// e is nil if the file has no such event.
func (c *comparison) eventType(built *runtime.Catalogue, t runtime.AnyEventType, e *catalog.Event) {
	c.learn(t.Settings())
	for _, s := range t.Subscriptions() {
		c.learn(s.Settings)
	}
	if e == nil {
		c.needsBuild(diag.Position{}, "event type %s is gone", t.Name())
		return
	}
	keys := keysOf(built, t)
	c.tuning.Types[t.Name()] = c.tuned("event type "+t.Name(), t.Name(), t.Settings(), e.Settings, keys)
	if t.Shape() != "" && t.Shape() != e.Shape() {
		c.needsBuild(e.Name.Pos, "event type %s has another payload, partition key or dedupe key", t.Name())
	}
	if t.Priority() != priorities[e.Settings.Priority.V] {
		c.needsBuild(e.Settings.Priority.Pos, "event type %s has another priority", t.Name())
	}
	c.headers(t, e)
	c.subscriptions(t, e, keys)
	c.schedules(t, e)
}

// headers reports headers that the program does not check as the file says.
func (c *comparison) headers(t runtime.AnyEventType, e *catalog.Event) {
	built := map[string]declare.Header{}
	for _, h := range t.Headers() {
		h.Option = ""
		built[h.Name] = h
	}
	for _, h := range e.Headers {
		if built[h.Name.V] != (declare.Header{Name: h.Name.V, Type: h.Type.Text, Required: h.Required.V}) {
			c.needsBuild(h.Name.Pos, "event type %s has another header %s", t.Name(), h.Name.V)
		}
		delete(built, h.Name.V)
	}
	for _, name := range slices.Sorted(maps.Keys(built)) {
		c.needsBuild(e.Name.Pos, "event type %s has no header %s any more", t.Name(), name)
	}
}

// learn remembers the error classes that settings of the program name.
func (c *comparison) learn(s declare.Settings) {
	for _, rule := range s.Errors {
		c.classes[rule.Class] = true
	}
}

func (c *comparison) subscriptions(t runtime.AnyEventType, e *catalog.Event, keys map[string]bool) {
	inFile := map[string]*catalog.Subscription{}
	for _, s := range e.Subscriptions {
		inFile[s.Name.V] = s
	}
	for _, s := range t.Subscriptions() {
		if other := inFile[s.Name]; other != nil {
			c.tuning.Subscriptions[s.Name] = c.tuned("subscription "+s.Name, s.Name, s.Settings, other.Settings, keys)
			if group := groupOf(other); group != s.Group {
				c.needsBuild(other.Name.Pos, "subscription %s of event type %s %s, and %s in the program", s.Name, t.Name(), inGroup(group), inGroup(s.Group))
			}
			delete(inFile, s.Name)
		} else {
			c.needsBuild(e.Name.Pos, "subscription %s of event type %s is no longer declared", s.Name, t.Name())
		}
	}
	for _, s := range e.Subscriptions {
		if inFile[s.Name.V] != nil {
			c.needsBuild(s.Name.Pos, "subscription %s of event type %s is newly declared", s.Name.V, t.Name())
		}
	}
}

// schedules reports the differences between schedules: all of them need a build.
func (c *comparison) schedules(t runtime.AnyEventType, e *catalog.Event) {
	built := map[string]declare.Schedule{}
	for _, s := range t.Schedules() {
		built[s.Name] = s
	}
	for _, s := range e.Schedules {
		was, ok := built[s.Name.V]
		delete(built, s.Name.V)
		missed := cmp.Or(was.Missed, declare.MissedOnce)
		switch {
		case !ok:
			c.needsBuild(s.Name.Pos, "schedule %s of event type %s is new", s.Name.V, t.Name())
		case was.Cron != s.Cron.V || was.Every != s.Every.V || was.TimeZone != s.Zone.V:
			c.needsBuild(s.Name.Pos, "schedule %s of event type %s has other times", s.Name.V, t.Name())
		case string(missed) != s.Missed.V:
			c.needsBuild(s.Name.Pos, "schedule %s of event type %s has another rule for missed times", s.Name.V, t.Name())
		case !sameJSON(was.Payload, string(s.Payload)):
			c.needsBuild(s.Name.Pos, "schedule %s of event type %s has another payload", s.Name.V, t.Name())
		}
	}
	for _, s := range t.Schedules() {
		if _, ok := built[s.Name]; ok {
			c.needsBuild(e.Name.Pos, "schedule %s of event type %s is gone", s.Name, t.Name())
		}
	}
}

// sameJSON compares values: generated code writes some characters in another way.
func sameJSON(a, b string) bool {
	decoded := func(text string) (value any) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if d.Decode(&value) != nil {
			return text
		}
		return value
	}
	return reflect.DeepEqual(decoded(a), decoded(b))
}

// groupOf returns the name of the group of a subscription in the file, or "".
func groupOf(s *catalog.Subscription) string {
	if s.Group == nil {
		return ""
	}
	return s.Group.Name.V
}

func inGroup(name string) string {
	if name == "" {
		return "is by itself"
	}
	return "is in group " + name
}

// tuned returns the settings of the file, and reports them if they are new. The limits, and the field of the
// breaker, stay those of the program if it does not have those of the file, or no code for what they count by.
func (c *comparison) tuned(what, name string, built declare.Settings, inFile catalog.Settings, keys map[string]bool) declare.Settings {
	settings := settingsOf(inFile)
	if !c.knowsLimits(what, inFile.Limits.V, keys) {
		settings.Limits = built.Limits
	}
	if !c.knowsBreaker(what, inFile.Breaker, keys) {
		settings.Breaker.By = built.Breaker.By
	}
	if !reflect.DeepEqual(settings, built) {
		c.report.Tuned = append(c.report.Tuned, name)
	}
	return settings
}
