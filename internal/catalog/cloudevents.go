package catalog

import (
	"github.com/busgen/busgen/internal/cloudevent"
	"github.com/busgen/busgen/internal/diag"
)

// CloudEvents says what the events are called outside of the program, as CloudEvents.
type CloudEvents struct {
	Source     Value[string] // the attribute source of what the program publishes
	TypePrefix Value[string] // what the attribute type has before the name on the wire
	DataSchema Value[string] // the attribute dataschema, with {type} and {version}; not written for none
	Pos        diag.Position // of the key
}

// TypeOf returns the attribute type of an event.
func (c *CloudEvents) TypeOf(e *Event) string { return c.TypePrefix.V + e.Name.V }

// Lines says in words what an event is called, for people.
func (c *CloudEvents) Lines(e *Event) []string {
	lines := []string{c.TypeOf(e), "of " + c.Source.V}
	if schema := c.DataSchemaOf(e); schema != "" {
		lines = append(lines, "with the schema "+schema)
	}
	return lines
}

// DataSchemaOf returns the attribute dataschema of an event; empty for none.
func (c *CloudEvents) DataSchemaOf(e *Event) string {
	return cloudevent.DataSchema(c.DataSchema.V, e.Name.V, e.Version.V)
}
