package page

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/payload/schema"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

// WithCatalogue shows what generated code knows of its event types: docs, and the
// settings that are built in. The types of fields are in the file of a bus anyway.
// Package fromfile reads more from the catalogue file: the docs of fields, and the line
// of each setting.
func WithCatalogue(c *runtime.Catalogue) Option {
	return func(p *Page) error {
		if c == nil {
			return errors.New("WithCatalogue: the catalogue is nil; leave the option out")
		}
		p.built = c
		return nil
	}
}

// WithSource shows what a catalogue file says. Programs do not call it: package
// fromfile does, so that only who reads catalogues links their reader.
func WithSource(c *catalog.Catalogue) Option {
	return func(p *Page) error {
		if c == nil {
			return errors.New("WithSource: the catalogue is nil; leave the option out")
		}
		p.source = c
		return nil
	}
}

// knownType is what the page knows of an event type.
type knownType struct {
	Name     string
	Doc      string
	From     string           // file:line; empty if no catalogue file is known
	Source   *catalog.Event   // of the catalogue file, or nil
	Version  int              // of the payload
	Fields   []*catalog.Field // of that version
	history  *catalog.Event   // whose FieldsOf knows the versions before, or nil
	policies map[string]retry.Policy
	built    runtime.AnyEventType // of the program, or nil
}

// typeOf returns what is known of an event type: from the catalogue file, the program, and
// the schema that is stored in the file of the bus. Without any of these it has only a name.
func (q *request) typeOf(name string) (knownType, error) {
	k := knownType{Name: name, policies: map[string]retry.Policy{}}
	if built := q.page.built; built != nil {
		if t := built.Lookup(name); t != nil {
			k.built, k.Doc = t, t.Doc()
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
	if source := q.page.source; source != nil {
		if e := source.EventNamed(name); e != nil {
			k.Doc, k.Source, k.From, k.history = e.Doc, e, place(e.Name.Pos), e
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
	stored, err := q.file().Schema(q.Context(), name)
	if err != nil {
		return k, err
	}
	k.describe(stored.Text)
	return k, nil
}

// describe takes the fields of a schema. One that a newer busgen has written is left out.
func (k *knownType) describe(text string) {
	if text == "" {
		return
	}
	read, err := schema.Read("the schema", text)
	if err != nil || len(read.Events) == 0 {
		return
	}
	e := read.Events[0]
	k.history, k.Version, k.Fields = e, e.Version.V, e.Fields
}

// fieldsOf returns the fields of a version of the payload, if they are known.
func (k knownType) fieldsOf(version int) []*catalog.Field {
	if k.history == nil {
		return nil
	}
	fields, _ := k.history.FieldsOf(version)
	return fields
}

// policy returns how a subscription retries events of the type, if that is known. Options of the
// call that subscribes may say otherwise.
func (k knownType) policy(subscription string) (retry.Policy, bool) {
	if p, ok := k.policies[subscription]; ok {
		return p, true
	}
	p, ok := k.policies[""]
	return p, ok
}

// place is a position as file:line; empty for what no file says.
func place(pos diag.Position) string {
	if !pos.IsKnown() {
		return ""
	}
	return pos.File + ":" + strconv.Itoa(pos.Line)
}

// typeNames lists all event types that are known: those of the catalogue first, in its order.
func (q *request) typeNames() ([]string, error) {
	var all []string
	if source := q.page.source; source != nil {
		all = source.EventNames()
	} else if built := q.page.built; built != nil {
		for _, t := range built.Types() {
			all = append(all, t.Name())
		}
	}
	names, err := q.file().Names(q.Context())
	for _, name := range names.Types {
		known := slices.Contains(all, name)
		if source := q.page.source; source != nil {
			known = known || source.EventNamed(name) != nil
		}
		if built := q.page.built; built != nil {
			known = known || built.Lookup(name) != nil
		}
		if !known {
			all = append(all, name)
		}
	}
	return all, err
}
