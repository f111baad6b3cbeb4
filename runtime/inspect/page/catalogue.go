package page

import (
	"errors"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect/page/internal/refusal"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
	"github.com/busgen/busgen/runtime/inspect/page/internal/typeinfo"
)

var (
	catalogueSheet = sheet{path: "catalogue", title: "Catalogue", menu: true, template: "catalogue", fill: fillCatalogue}
	typeSheet      = sheet{path: "type", title: "Event type", template: "type", fill: fillType}
)

// catalogueData is the Data of the page "Catalogue".
type catalogueData struct {
	Types  []typeRow
	Source string // the catalogue file; empty without one
	Built  bool   // the page knows the program
}

// typeRow is an event type of the list.
type typeRow struct {
	Name  string
	Doc   string
	Owner string
	From  string
	Gone  bool // only the file of the bus knows it
}

func fillCatalogue(q *request) (any, error) {
	names, err := q.typeNames()
	if err != nil {
		return nil, err
	}
	data := &catalogueData{Built: q.page.catalogues.Built != nil}
	if q.page.catalogues.Source != nil {
		data.Source = q.page.catalogues.Source.File
	}
	for _, name := range names {
		row := typeRow{Name: name, Gone: (data.Built || data.Source != "") && !strings.HasPrefix(name, "$")}
		if built := q.page.catalogues.Built; built != nil {
			if t := built.Lookup(name); t != nil {
				row.Doc, row.Gone = t.Doc(), false
			}
		}
		if source := q.page.catalogues.Source; source != nil {
			if e := source.EventNamed(name); e != nil {
				row.Doc, row.Owner, row.From, row.Gone = e.Doc, e.Owner.V, typeinfo.Place(e.Name.Pos), false
			}
		}
		data.Types = append(data.Types, row)
	}
	return data, nil
}

// typeData is the Data of the page of one event type.
type typeData struct {
	typeinfo.Type
	Stored     event.Schema
	Rows       []typeinfo.Row
	Owner      string
	Tags       []string
	Aliases    []string
	Deprecated string
	Settings   []typeinfo.Setting
	Subs       []declaredRow
	Events     string // the address of its events
	CLI        string
}

// declaredRow is a subscription that the catalogue declares.
type declaredRow struct{ Name, Doc, Group, From string }

func fillType(q *request) (any, error) {
	name := q.FormValue("name")
	if name == "" {
		return nil, refusal.BadRequest("The address names no event type.")
	}
	target, err := q.target()
	if err != nil {
		return nil, err
	}
	known, err := q.typeOf(name)
	if err != nil {
		return nil, err
	}
	names, err := q.typeNames()
	if err != nil {
		return nil, err
	}
	if known.Fields == nil && known.Doc == "" && len(typeinfo.Matching(name, names)) == 0 {
		return nil, &event.NotFoundError{Thing: "event type", Name: texts.Clip(name, texts.MostValue)}
	}
	data := &typeData{Type: known, Rows: typeinfo.Rows(known.Fields, nil), Events: eventForm{Type: name}.address(""), CLI: commandline.Of("events list", []string{"--type", name}, target)}
	if data.Stored, err = q.file().Schema(q.Context(), name); err != nil {
		return nil, err
	}
	if built := known.Built; built != nil {
		data.Settings, data.Aliases = typeinfo.OfProgram(built.Settings()), built.Aliases()
		for _, s := range built.Subscriptions() {
			data.Subs = append(data.Subs, declaredRow{Name: s.Name, Group: s.Group})
		}
		for _, s := range q.page.catalogues.Built.PatternSubscriptions() {
			if s.Covers(built) {
				data.Subs = append(data.Subs, declaredRow{Name: s.Name, Group: s.Group})
			}
		}
	}
	if e := known.Source; e != nil {
		data.Settings, data.Subs = typeinfo.OfSource(e.Settings), nil
		data.Owner, data.Deprecated, data.Tags, data.Aliases = e.Owner.V, e.Deprecated.V, written(e.Tags), written(e.Aliases)
		for _, s := range e.Declared() {
			row := declaredRow{Name: s.Name.V, Doc: s.Doc, From: typeinfo.Place(s.Name.Pos)}
			if s.Group != nil {
				row.Group = s.Group.Name.V
			}
			data.Subs = append(data.Subs, row)
		}
	}
	return data, nil
}

func written(values []catalog.Value[string]) (all []string) {
	for _, v := range values {
		all = append(all, v.V)
	}
	return all
}

// WithCatalogue shows what generated code knows of its event types: docs, and the
// settings that are built in. The types of fields are in the file of a bus anyway.
// Package fromfile reads more from the catalogue file: the docs of fields, and the line
// of each setting.
func WithCatalogue(c *runtime.Catalogue) Option {
	return func(p *Page) error {
		if c == nil {
			return errors.New("WithCatalogue: the catalogue is nil; leave the option out")
		}
		p.catalogues.Built = c
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
		p.catalogues.Source = c
		return nil
	}
}

// typeOf returns what is known of an event type, also by the file of the bus.
func (q *request) typeOf(name string) (typeinfo.Type, error) {
	return q.page.catalogues.TypeOf(name, func(name string) (event.Schema, error) { return q.file().Schema(q.Context(), name) })
}

// typeNames lists all event types that are known: those of the catalogue first, in its order.
func (q *request) typeNames() ([]string, error) {
	names, err := q.file().Names(q.Context())
	return q.page.catalogues.Names(names.Types), err
}
