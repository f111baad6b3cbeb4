package typeinfo

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

// Setting is a setting with where it comes from.
type Setting struct{ Key, Value, From string }

// builtIn is the origin of a setting that no file says, and inProgram that of one that the
// page has from the program.
const (
	builtIn   = "built in"
	inProgram = "the program"
)

// OfSource lists settings with the lines of the catalogue file.
func OfSource(s catalog.Settings) (rows []Setting) {
	for _, one := range s.List() {
		row := Setting{one.Key, fmt.Sprint(one.Value), Place(one.Pos)}
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

// OfProgram lists settings in the words of the catalogue.
func OfProgram(s declare.Settings) (rows []Setting) {
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
				rows = append(rows, Setting{path + key, string(text), inProgram})
			default:
				rows = append(rows, Setting{path + key, fmt.Sprint(v), inProgram})
			}
		}
	}
	list("", values)
	return rows
}

// SettingsOf returns the settings of a subscription, and what they are for in words. Options of
// the call that subscribes may say otherwise.
func (c Catalogues) SettingsOf(subscription, pattern string) (rows []Setting, what string) {
	if c.Source != nil {
		for _, e := range c.Source.Events {
			for _, s := range e.Subscriptions {
				if s.Name.V == subscription {
					return OfSource(s.Settings), "declared for " + e.Name.V
				}
			}
		}
		for _, s := range c.Source.Subscriptions {
			if s.Name.V == subscription && len(s.Events) == 1 {
				return OfSource(s.For(s.Events[0])), "declared for " + s.Pattern()
			}
		}
		if types := Matching(pattern, c.Source.EventNames()); len(types) == 1 {
			return OfSource(c.Source.EventNamed(types[0]).Settings), "those of " + types[0]
		}
	}
	if c.Built != nil {
		var names []string
		for _, t := range c.Built.Types() {
			names = append(names, t.Name())
			for _, s := range t.Subscriptions() {
				if s.Name == subscription {
					return OfProgram(s.Settings), "declared for " + t.Name()
				}
			}
		}
		if types := Matching(pattern, names); len(types) == 1 {
			t := c.Built.Lookup(types[0])
			for _, s := range c.Built.PatternSubscriptions() {
				if s.Name == subscription && s.Covers(t) {
					return OfProgram(s.For(t)), "declared for " + pattern
				}
			}
			return OfProgram(c.Built.Lookup(types[0]).Settings()), "those of " + types[0]
		}
	}
	return nil, ""
}

// Matching returns the event types that one of the globs of a pattern matches.
func Matching(pattern string, types []string) (some []string) {
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
