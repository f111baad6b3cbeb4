// Package typeinfo is what a page knows of event types: their fields, settings and docs, from the program, a catalogue
// file and the file of the bus.
package typeinfo

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/payload/schema"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
)

// Catalogues are what a page knows of the event types beside the file of a bus.
type Catalogues struct {
	Built  *runtime.Catalogue // of the program; nil for none
	Source *catalog.Catalogue // of a catalogue file; nil for none
}

// Known tells whether there is a catalogue.
func (c Catalogues) Known() bool { return c.Source != nil || c.Built != nil }

// Type is what the page knows of an event type.
type Type struct {
	Name     string
	Doc      string
	From     string           // file:line; empty if no catalogue file is known
	Source   *catalog.Event   // of the catalogue file, or nil
	Version  int              // of the payload
	Fields   []*catalog.Field // of that version
	History  *catalog.Event   // whose FieldsOf knows the versions before, or nil
	policies map[string]retry.Policy
	Built    runtime.AnyEventType // of the program, or nil
}

// TypeOf returns what is known of an event type: from the catalogue file, the program, and
// the schema that is stored in the file of the bus. Without any of these it has only a name.
func (c Catalogues) TypeOf(name string, stored func(name string) (event.Schema, error)) (Type, error) {
	k := Type{Name: name, policies: map[string]retry.Policy{}}
	if built := c.Built; built != nil {
		if t := built.Lookup(name); t != nil {
			k.Built, k.Doc = t, t.Doc()
			k.policies[""] = t.Settings().Retry
			for _, s := range t.Subscriptions() {
				k.policies[cmp.Or(s.Group, s.Name)] = s.Settings.Retry
			}
			for _, s := range built.PatternSubscriptions() {
				if s.Covers(t) {
					k.policies[cmp.Or(s.Group, s.Name)] = s.For(t).Retry
				}
			}
			k.describe(t.Schema())
		}
	}
	if source := c.Source; source != nil {
		if e := source.EventNamed(name); e != nil {
			k.Doc, k.Source, k.From, k.History = e.Doc, e, Place(e.Name.Pos), e
			k.Version, k.Fields = e.Version.V, e.Fields
			k.policies[""] = e.Settings.Policy()
			for _, s := range e.Declared() {
				if s.Group == nil {
					k.policies[s.Name.V] = s.Settings.Policy()
				}
			}
		}
	}
	if k.Fields != nil {
		return k, nil
	}
	found, err := stored(name)
	if err != nil {
		return k, err
	}
	k.describe(found.Text)
	return k, nil
}

// describe takes the fields of a schema. One that a newer busgen has written is left out.
func (k *Type) describe(text string) {
	if text == "" {
		return
	}
	read, err := schema.Read("the schema", text)
	if err != nil || len(read.Events) == 0 {
		return
	}
	e := read.Events[0]
	k.History, k.Version, k.Fields = e, e.Version.V, e.Fields
}

// FieldsOf returns the fields of a version of the payload, if they are known.
func (k Type) FieldsOf(version int) []*catalog.Field {
	if k.History == nil {
		return nil
	}
	fields, _ := k.History.FieldsOf(version)
	return fields
}

// Policy returns how a subscription retries events of the type, if that is known. Options of the
// call that subscribes may say otherwise.
func (k Type) Policy(subscription string) (retry.Policy, bool) {
	if p, ok := k.policies[subscription]; ok {
		return p, true
	}
	p, ok := k.policies[""]
	return p, ok
}

// Place is a position as file:line; empty for what no file says.
func Place(pos diag.Position) string {
	if !pos.IsKnown() {
		return ""
	}
	return pos.File + ":" + strconv.Itoa(pos.Line)
}

// Names lists all event types that are known: those of the catalogue first, in its order.
func (c Catalogues) Names(stored []string) (all []string) {
	if source := c.Source; source != nil {
		all = source.EventNames()
	} else if built := c.Built; built != nil {
		for _, t := range built.Types() {
			all = append(all, t.Name())
		}
	}
	for _, name := range stored {
		known := slices.Contains(all, name)
		if source := c.Source; source != nil {
			known = known || source.EventNamed(name) != nil
		}
		if built := c.Built; built != nil {
			known = known || built.Lookup(name) != nil
		}
		if !known {
			all = append(all, name)
		}
	}
	return all
}
