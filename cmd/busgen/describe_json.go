package main

import (
	"encoding/json"

	"github.com/busgen/busgen/internal/catalog"
)

// The form of --json. It is documented in the help of the verb.
type (
	eventObject struct {
		Name          string                   `json:"name"`
		Doc           string                   `json:"doc,omitempty"`
		Deprecated    string                   `json:"deprecated,omitempty"`
		Owner         string                   `json:"owner,omitempty"`
		Tags          []string                 `json:"tags,omitempty"`
		At            string                   `json:"at"`
		PartitionBy   string                   `json:"partition_by,omitempty"`
		Payload       []fieldObject            `json:"payload"`
		Subscriptions []declaredObject         `json:"subscriptions,omitempty"`
		Settings      map[string]settingObject `json:"settings"`
		Examples      []json.RawMessage        `json:"examples,omitempty"`
	}
	fieldObject struct {
		Name       string `json:"name"`
		Type       string `json:"type"`
		Optional   bool   `json:"optional,omitempty"`
		Doc        string `json:"doc,omitempty"`
		Deprecated string `json:"deprecated,omitempty"`
	}
	declaredObject struct {
		Name string `json:"name"`
		Doc  string `json:"doc,omitempty"`
	}
)

func describeJSON(events []*catalog.Event) (string, error) {
	objects := make([]eventObject, len(events))
	for i, e := range events {
		objects[i] = eventObjectOf(e)
	}
	return document(objects)
}

func eventObjectOf(e *catalog.Event) eventObject {
	o := eventObject{
		Name: e.Name.V, Doc: e.Doc, Deprecated: e.Deprecated.V, Owner: e.Owner.V, Tags: texts(e.Tags), At: origin(e.Name.Pos),
		Payload: []fieldObject{}, Settings: settingObjects(e.Settings),
	}
	if e.PartitionBy != nil {
		o.PartitionBy = e.PartitionBy.Name.V
	}
	for _, f := range e.Fields {
		o.Payload = append(o.Payload, fieldObject{f.Name.V, f.Type.Text, f.Type.Optional, f.Doc, f.Deprecated.V})
	}
	for _, s := range e.Subscriptions {
		o.Subscriptions = append(o.Subscriptions, declaredObject{s.Name.V, s.Doc})
	}
	for _, example := range e.Examples {
		o.Examples = append(o.Examples, example.JSON)
	}
	return o
}
