package parse

import (
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cloudevent"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// cloudEvents reads `cloudevents:`. It is nil without it, and after a finding about its kind.
func (r *Settings) cloudEvents(root object) *catalog.CloudEvents {
	e, ok := root.entries["cloudevents"]
	if !ok {
		return nil
	}
	o, ok := r.object(e.value, "cloudevents", "source", "type_prefix", "dataschema")
	if !ok {
		return nil
	}
	r.required(o, "source", "say who publishes the events, as in \"source: https://shop.example\"")
	return &catalog.CloudEvents{
		Source:     r.outsideName(o, "source", cloudevent.CheckSource, "write a URI, such as https://shop.example or urn:example:shop"),
		TypePrefix: r.outsideName(o, "type_prefix", cloudevent.CheckTypePrefix, "write a domain backwards and a dot, such as com.example."),
		DataSchema: r.outsideName(o, "dataschema", cloudevent.CheckDataSchema, "write a URI, such as https://shop.example/schemas/{type}/{version}"),
		Pos:        r.position(e.key),
	}
}

// outsideName reads a key of `cloudevents:`.
func (r *Settings) outsideName(o object, key string, check func(string) string, hint string) catalog.Value[string] {
	e, ok := o.entries[key]
	if !ok {
		return catalog.Value[string]{}
	}
	text, ok := r.text(e.value, key+" of "+o.what)
	if !ok {
		return catalog.Value[string]{}
	}
	problem := check(text.V)
	if text.V == "" {
		problem = "it is empty"
	}
	if problem != "" {
		r.report(r.place(e.value), rules.CloudEvents, "%s of cloudevents cannot be %s: %s", key, diag.Label(text.V), problem).Hint = hint
		return catalog.Value[string]{}
	}
	return text
}
