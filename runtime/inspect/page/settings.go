package page

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/declare"
)

// settingRow is a setting with where it comes from.
type settingRow struct{ Key, Value, From string }

// builtIn is the origin of a setting that no file says, and inProgram that of one that the
// page has from the program.
const (
	builtIn   = "built in"
	inProgram = "the program"
)

// sourceSettings lists settings with the lines of the catalogue file.
func sourceSettings(s catalog.Settings) (rows []settingRow) {
	for _, one := range s.List() {
		row := settingRow{one.Key, fmt.Sprint(one.Value), place(one.Pos)}
		if list, ok := one.Value.([]string); ok {
			row.Value = strings.Join(list, ", ")
		}
		if row.From == "" {
			row.From = builtIn
		}
		rows = append(rows, row)
	}
	return rows
}

// programSettings lists settings in the words of the catalogue.
func programSettings(s declare.Settings) (rows []settingRow) {
	text, err := json.Marshal(s)
	var values map[string]any
	if err != nil || json.Unmarshal(text, &values) != nil {
		return nil
	}
	var list func(path string, values map[string]any)
	list = func(path string, values map[string]any) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			switch v := values[key].(type) {
			case map[string]any:
				list(path+key+".", v)
			case []any:
				text, _ := json.Marshal(v)
				rows = append(rows, settingRow{path + key, string(text), inProgram})
			default:
				rows = append(rows, settingRow{path + key, fmt.Sprint(v), inProgram})
			}
		}
	}
	list("", values)
	return rows
}

// settingsOf returns the settings of a subscription, and what they are for in words. Options of
// the call that subscribes may say otherwise.
func (p *Page) settingsOf(subscription, pattern string) (rows []settingRow, what string) {
	if p.source != nil {
		for _, e := range p.source.Events {
			for _, s := range e.Subscriptions {
				if s.Name.V == subscription {
					return sourceSettings(s.Settings), "declared for " + e.Name.V
				}
			}
		}
		for _, s := range p.source.Subscriptions {
			if s.Name.V == subscription && len(s.Events) == 1 {
				return sourceSettings(s.For(s.Events[0])), "declared for " + s.Pattern()
			}
		}
		if types := matching(pattern, p.source.EventNames()); len(types) == 1 {
			return sourceSettings(p.source.EventNamed(types[0]).Settings), "those of " + types[0]
		}
	}
	if p.built != nil {
		var names []string
		for _, t := range p.built.Types() {
			names = append(names, t.Name())
			for _, s := range t.Subscriptions() {
				if s.Name == subscription {
					return programSettings(s.Settings), "declared for " + t.Name()
				}
			}
		}
		if types := matching(pattern, names); len(types) == 1 {
			t := p.built.Lookup(types[0])
			for _, s := range p.built.PatternSubscriptions() {
				if s.Name == subscription && s.Covers(t) {
					return programSettings(s.For(t)), "declared for " + pattern
				}
			}
			return programSettings(p.built.Lookup(types[0]).Settings()), "those of " + types[0]
		}
	}
	return nil, ""
}

// matching returns the event types that one of the globs of a pattern matches.
func matching(pattern string, types []string) (some []string) {
	for _, name := range types {
		for _, one := range strings.Fields(pattern) {
			if g, err := glob.Parse(one); err == nil && g.Match(name) {
				some = append(some, name)
				break
			}
		}
	}
	return some
}
