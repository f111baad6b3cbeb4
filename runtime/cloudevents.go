package runtime

import (
	"fmt"

	"github.com/busgen/busgen/internal/cloudevent"
)

// CloudEvents says what the events of a catalogue are called outside of the program, as
// CloudEvents (https://cloudevents.io). Package cloudevents receives, sends and exports them.
// What the bus stores does not depend on it.
type CloudEvents struct {
	// Source is the attribute source of events that this program publishes: a URI reference,
	// such as https://shop.example. Package cloudevents sends and exports nothing without it.
	Source string
	// TypePrefix is what the attribute type has before the name of an event type: with
	// com.example. the event type order.placed is com.example.order.placed.
	TypePrefix string
	// DataSchema is the attribute dataschema, a URI in which {type} stands for the name of the
	// event type and {version} for the version of the payload; empty for none. An event with the
	// URI of an older version is received as one of that version.
	DataSchema string
	// Types has the attribute type of single event types, by name, instead of the prefix and the
	// name.
	Types map[string]string
}

// WithCloudEvents says what the events are called outside of the program, and returns the
// catalogue. It panics if that is not valid, or two event types had the same name there.
// Generated code calls it before anything else uses the catalogue.
func (c *Catalogue) WithCloudEvents(names CloudEvents) *Catalogue {
	if err := names.validate(); err != nil {
		panic(fmt.Sprintf("runtime.Catalogue.WithCloudEvents: %v", err))
	}
	for name, outside := range names.Types {
		if c.named[name] == nil || outside == "" {
			panic(fmt.Sprintf("runtime.Catalogue.WithCloudEvents: Types has %.100q as %.100q: the catalogue has no such type, or it has no name outside", name, outside))
		}
	}
	inside := map[string]string{}
	for _, t := range c.types {
		called := map[string]string{names.TypeOf(t.Name()): t.Name()}
		for _, alias := range t.Aliases() {
			if outside := names.TypePrefix + alias; called[outside] == "" {
				called[outside] = alias
			}
		}
		for outside, name := range called {
			if other := inside[outside]; other != "" {
				panic(fmt.Sprintf("runtime.Catalogue.WithCloudEvents: %s and %s are both %q outside", c.named[other].Name(), t.Name(), outside))
			}
			inside[outside] = name
		}
	}
	c.inside = inside
	c.outside = names
	return c
}

// CloudEvents returns what the events are called outside of the program. It is zero for a
// catalogue that does not say it.
func (c *Catalogue) CloudEvents() CloudEvents { return c.outside }

func (n CloudEvents) validate() error {
	if problem := cloudevent.CheckSource(n.Source); problem != "" {
		return fmt.Errorf("the source %.100q: %s", n.Source, problem)
	}
	if problem := cloudevent.CheckTypePrefix(n.TypePrefix); problem != "" {
		return fmt.Errorf("the prefix of types %.100q: %s", n.TypePrefix, problem)
	}
	if n.DataSchema == "" {
		return nil
	}
	if problem := cloudevent.CheckDataSchema(n.DataSchema); problem != "" {
		return fmt.Errorf("the dataschema %.100q: %s", n.DataSchema, problem)
	}
	return nil
}

// TypeOf returns the attribute type of an event type.
func (n CloudEvents) TypeOf(eventType string) string {
	if outside, ok := n.Types[eventType]; ok {
		return outside
	}
	return n.TypePrefix + eventType
}

// DataSchemaOf returns the attribute dataschema of an event type and a version of its payload;
// empty for none.
func (n CloudEvents) DataSchemaOf(eventType string, version int) string {
	return cloudevent.DataSchema(n.DataSchema, eventType, version)
}

// InsideName returns the name of the event type that is called so outside: as [CloudEvents.TypeOf]
// says, or by the prefix and a name that it had before, which is returned then. It is empty if there is none.
func (c *Catalogue) InsideName(outside string) string {
	if c.inside != nil {
		return c.inside[outside]
	}
	if c.named[outside] == nil { // without WithCloudEvents
		return ""
	}
	return outside
}
