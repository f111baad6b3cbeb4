package page

import (
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/runtime/event"
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
	data := &catalogueData{Built: q.page.built != nil}
	if q.page.source != nil {
		data.Source = q.page.source.File
	}
	for _, name := range names {
		row := typeRow{Name: name, Gone: (data.Built || data.Source != "") && !strings.HasPrefix(name, "$")}
		if built := q.page.built; built != nil {
			if t := built.Lookup(name); t != nil {
				row.Doc, row.Gone = t.Doc(), false
			}
		}
		if source := q.page.source; source != nil {
			if e := source.EventNamed(name); e != nil {
				row.Doc, row.Owner, row.From, row.Gone = e.Doc, e.Owner.V, place(e.Name.Pos), false
			}
		}
		data.Types = append(data.Types, row)
	}
	return data, nil
}

// typeData is the Data of the page of one event type.
type typeData struct {
	knownType
	Stored     event.Schema
	Rows       []fieldRow
	Owner      string
	Tags       []string
	Aliases    []string
	Deprecated string
	Settings   []settingRow
	Subs       []declaredRow
	Events     string // the address of its events
	CLI        string
}

// declaredRow is a subscription that the catalogue declares.
type declaredRow struct{ Name, Doc, Group, From string }

func fillType(q *request) (any, error) {
	name := q.FormValue("name")
	if name == "" {
		return nil, badRequest("The address names no event type.")
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
	if known.Fields == nil && known.Doc == "" && len(matching(name, names)) == 0 {
		return nil, &event.NotFoundError{Thing: "event type", Name: clip(name, mostValue)}
	}
	data := &typeData{knownType: known, Rows: fieldRows(known.Fields, nil), Events: eventForm{Type: name}.address(""), CLI: commandline.Of("events list", []string{"--type", name}, target)}
	if data.Stored, err = q.file().Schema(q.Context(), name); err != nil {
		return nil, err
	}
	if built := known.built; built != nil {
		data.Settings, data.Aliases = programSettings(built.Settings()), built.Aliases()
		for _, s := range built.Subscriptions() {
			data.Subs = append(data.Subs, declaredRow{Name: s.Name, Group: s.Group})
		}
		for _, s := range q.page.built.PatternSubscriptions() {
			if s.Covers(built) {
				data.Subs = append(data.Subs, declaredRow{Name: s.Name, Group: s.Group})
			}
		}
	}
	if e := known.Source; e != nil {
		data.Settings, data.Subs = sourceSettings(e.Settings), nil
		data.Owner, data.Deprecated, data.Tags, data.Aliases = e.Owner.V, e.Deprecated.V, written(e.Tags), written(e.Aliases)
		for _, s := range e.Declared() {
			row := declaredRow{Name: s.Name.V, Doc: s.Doc, From: place(s.Name.Pos)}
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
