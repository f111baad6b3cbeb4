package catalogue

import (
	"encoding/json"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli"
)

// The form of --json. It is documented in the help of the verb.
type (
	eventObject struct {
		Name          string                   `json:"name"`
		Wire          string                   `json:"wire,omitempty"`   // its name on the wire, if that is another
		Schema        string                   `json:"schema,omitempty"` // of its payload, in documents
		CloudEvent    *cloudEventObject        `json:"cloudevent,omitempty"`
		Doc           string                   `json:"doc,omitempty"`
		Deprecated    string                   `json:"deprecated,omitempty"`
		Owner         string                   `json:"owner,omitempty"`
		Tags          []string                 `json:"tags,omitempty"`
		At            string                   `json:"at"`
		Version       int                      `json:"version"`
		Aliases       []string                 `json:"aliases,omitempty"`
		PartitionBy   string                   `json:"partition_by,omitempty"`
		DedupeBy      string                   `json:"dedupe_by,omitempty"`
		AwaitBy       string                   `json:"await_by,omitempty"`
		Headers       []headerObject           `json:"headers,omitempty"`
		Mixins        []string                 `json:"mixins,omitempty"` // whose fields are in the payload
		Payload       []fieldObject            `json:"payload"`
		Result        *resultObject            `json:"result,omitempty"`
		Reserved      []string                 `json:"reserved,omitempty"`
		History       []oldObject              `json:"history,omitempty"`
		Subscriptions []declaredObject         `json:"subscriptions,omitempty"`
		Schedules     []scheduleObject         `json:"schedules,omitempty"`
		Settings      map[string]settingObject `json:"settings"`
		Examples      []json.RawMessage        `json:"examples,omitempty"`
	}
	cloudEventObject struct {
		Type       string `json:"type"`
		Source     string `json:"source"`
		DataSchema string `json:"dataschema,omitempty"`
	}
	headerObject struct {
		Name     string `json:"name"`
		Type     string `json:"type"`
		Required bool   `json:"required,omitempty"`
		Doc      string `json:"doc,omitempty"`
	}
	fieldObject struct {
		Name       string `json:"name"`
		JSON       string `json:"json,omitempty"`  // its name in JSON, if that is another
		Mixin      string `json:"mixin,omitempty"` // which brings it
		Type       string `json:"type"`
		Optional   bool   `json:"optional,omitempty"`
		Nullable   bool   `json:"nullable,omitempty"`
		Doc        string `json:"doc,omitempty"`
		Deprecated string `json:"deprecated,omitempty"`

		Was     []string        `json:"was,omitempty"`
		Default json.RawMessage `json:"default,omitempty"`
	}
	resultObject struct {
		Type     string `json:"type"`
		Optional bool   `json:"optional,omitempty"`
		Nullable bool   `json:"nullable,omitempty"`
		Doc      string `json:"doc,omitempty"`
	}
	oldObject struct {
		Version int           `json:"version"`
		Doc     string        `json:"doc,omitempty"`
		Mixins  []string      `json:"mixins,omitempty"`
		Payload []fieldObject `json:"payload"`
	}
	scheduleObject struct {
		Name     string          `json:"name"`
		Doc      string          `json:"doc,omitempty"`
		Cron     string          `json:"cron,omitempty"`
		Every    string          `json:"every,omitempty"`
		TimeZone string          `json:"time_zone,omitempty"`
		Missed   string          `json:"missed"`
		Payload  json.RawMessage `json:"payload"`
	}
	declaredObject struct {
		Name    string   `json:"name"`
		Doc     string   `json:"doc,omitempty"`
		Aliases []string `json:"aliases,omitempty"`
		Group   string   `json:"group,omitempty"`
		Pattern []string `json:"pattern,omitempty"` // of one that is for patterns
	}
)

func describeJSON(events []*catalog.Event) (string, error) {
	objects := make([]eventObject, len(events))
	for i, e := range events {
		objects[i] = eventObjectOf(e)
	}
	return cli.Document(objects)
}

func eventObjectOf(e *catalog.Event) eventObject {
	o := eventObject{
		Name: e.Label(), Schema: e.Schema.V, Doc: e.Doc, Deprecated: e.Deprecated.V, Owner: e.Owner.V, Tags: texts(e.Tags), At: origin(e.Name.Pos),
		Version: e.Version.V, Aliases: texts(e.Aliases), Mixins: catalog.MixinNames(e.Mixins), Payload: fieldObjects(e.Fields), Reserved: texts(e.Reserved), Settings: settingObjects(e.Settings),
	}
	if e.Name.V != e.Label() {
		o.Wire = e.Name.V
	}
	if e.PartitionBy != nil {
		o.PartitionBy = e.PartitionBy.Label()
	}
	if e.DedupeBy != nil {
		o.DedupeBy = e.DedupeBy.Label()
	}
	if e.AwaitBy != nil {
		o.AwaitBy = e.AwaitBy.Label()
	}
	if c := e.CloudEvents; c != nil {
		o.CloudEvent = &cloudEventObject{c.TypeOf(e), c.Source.V, c.DataSchemaOf(e)}
	}
	for _, h := range e.Headers {
		o.Headers = append(o.Headers, headerObject{h.Name.V, h.Type.Text, h.Required.V, h.Doc})
	}
	if e.Result != nil {
		o.Result = &resultObject{e.Result.Type.Text, e.Result.Type.Optional, e.Result.Type.Nullable, e.Result.Doc}
	}
	for _, old := range e.History {
		o.History = append(o.History, oldObject{old.Version.V, old.Doc, catalog.MixinNames(old.Type.Mixins), fieldObjects(old.Type.Fields)})
	}
	for _, s := range e.Subscriptions {
		one := declaredObject{Name: s.Name.V, Doc: s.Doc, Aliases: texts(s.Aliases)}
		if s.Group != nil {
			one.Group = s.Group.Name.V
		}
		o.Subscriptions = append(o.Subscriptions, one)
	}
	for _, s := range e.Patterns {
		one := declaredObject{Name: s.Name.V, Doc: s.Doc, Aliases: texts(s.Aliases), Pattern: s.Texts()}
		if s.Group != nil {
			one.Group = s.Group.Name.V
		}
		o.Subscriptions = append(o.Subscriptions, one)
	}
	for _, s := range e.Schedules {
		one := scheduleObject{s.Name.V, s.Doc, s.Cron.V, "", s.Zone.V, s.Missed.V, s.Payload}
		switch {
		case s.Cron.V == "":
			one.Every = catalog.Short(s.Every.V)
		case s.Zone.V == "":
			one.TimeZone = "UTC"
		}
		o.Schedules = append(o.Schedules, one)
	}
	for _, example := range e.Examples {
		o.Examples = append(o.Examples, example.JSON)
	}
	return o
}

func fieldObjects(fields []*catalog.Field) []fieldObject {
	objects := []fieldObject{}
	for _, f := range fields {
		mixin := ""
		if f.Mixin != nil {
			mixin = f.Mixin.Name.V
		}
		objects = append(objects, fieldObject{f.Label(), jsonName(f), mixin, f.Type.Text, f.Type.Optional, f.Type.Nullable, f.Doc, f.Deprecated.V, texts(f.Was), f.Default.V})
	}
	return objects
}

// jsonName returns the name of a field in JSON, or "" if it has no other.
func jsonName(f *catalog.Field) string {
	if f.Name.V == f.Label() {
		return ""
	}
	return f.Name.V
}
