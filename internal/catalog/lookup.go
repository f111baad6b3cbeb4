package catalog

import (
	"cmp"
	"slices"
)

// Label returns what the catalogue calls the event. It is the name on the wire if the event was read from a record.
func (e *Event) Label() string {
	return cmp.Or(e.Local.V, e.Name.V)
}

// EventLabels lists what the catalogue calls its events, in their order.
func (c *Catalogue) EventLabels() []string {
	var names []string
	for _, e := range c.Events {
		names = append(names, e.Label())
	}
	return names
}

// EventLabelled returns the event that the catalogue calls by a name or, if there is none, the one with this name
// on the wire, or nil.
func (c *Catalogue) EventLabelled(name string) *Event {
	for _, e := range c.Events {
		if e.Label() == name {
			return e
		}
	}
	return c.EventNamed(name)
}

// EventNames lists the names of the events on the wire, without aliases, in their order.
func (c *Catalogue) EventNames() []string {
	var names []string
	for _, e := range c.Events {
		names = append(names, e.Name.V)
	}
	return names
}

// EventNamed returns the event with a name on the wire or an alias, or nil.
func (c *Catalogue) EventNamed(name string) *Event {
	for _, e := range c.Events {
		if e.Name.V == name {
			return e
		}
	}
	for _, e := range c.Events {
		for _, alias := range e.Aliases {
			if alias.V == name {
				return e
			}
		}
	}
	return nil
}

// EventsByName returns all events by their names on the wire and aliases. A name wins over an alias.
func (c *Catalogue) EventsByName() map[string]*Event {
	all := map[string]*Event{}
	for _, e := range c.Events {
		for _, alias := range e.Aliases {
			if all[alias.V] == nil {
				all[alias.V] = e
			}
		}
	}
	for _, e := range slices.Backward(c.Events) {
		all[e.Name.V] = e
	}
	return all
}

// FieldsOf returns the fields of the payload in a version. It is false for a version without a payload in the
// catalogue.
func (e *Event) FieldsOf(version int) ([]*Field, bool) {
	if version == e.Version.V {
		return e.Fields, true
	}
	for _, old := range e.History {
		if old.Version.V == version {
			return old.Type.Fields, true
		}
	}
	return nil, false
}
