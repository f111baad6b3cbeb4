package catalogtest

import (
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"pgregory.net/rapid"
)

// Names that generated code has other uses for.
var (
	importNames = []string{"other", "maps", "json", "uuid", "testing", "retry", "p", "err", "any", "netip", "common"}
	belowNames  = []string{"one", "two", "events", "slices", "bytes", "deep", "url", "item", "payments", "w", "contract"}
)

// MadePackages makes a catalogue in several files and packages: events.yaml includes one.yaml and
// two.yaml, and imports other.yaml, whose import path is given.
func MadePackages(t *rapid.T, otherPath string) map[string][]byte {
	m := &maker{t: t}
	for i := range 1 + m.upTo(5) {
		m.types = append(m.types, m.one("type", typeNames)+strings.Repeat("X", i))
	}
	places := []string{"other.yaml", "one.yaml", "two.yaml", "events.yaml"} // each may use the types of those before
	types, events := map[string]object{}, map[string]object{}
	for _, place := range places {
		types[place], events[place] = object{}, object{}
	}
	of := map[string]string{} // the places of types
	for _, name := range m.types {
		of[name] = m.one("place", places)
	}
	all := m.types
	for _, name := range m.share(types["other.yaml"]) {
		of[name] = "other.yaml"
	}
	for i, place := range places {
		m.types = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !slices.Contains(places[:i+1], of[name]) })
		for _, name := range all {
			if of[name] == place {
				types[place].set(name, m.typeBody())
			}
		}
		for range m.upTo(2) {
			events[place].set(m.one("event", eventNames), m.event())
		}
	}
	events["other.yaml"].set("other.done", object{})

	imported := m.one("import", importNames)
	files := map[string][]byte{}
	for _, place := range places {
		file := object{"version": 1, "types": types[place], "events": events[place]}
		if place != "other.yaml" {
			file = renamed(file, func(name string) string {
				if of[name] == "other.yaml" {
					return imported + "." + name
				}
				return name
			}).(object)
		}
		switch place {
		case "events.yaml":
			file.set("package", m.one("package", packageNames)).set("include", []string{"one.yaml", "two.yaml"})
			file.set("imports", object{imported: object{"catalogue": "other.yaml", "import_path": otherPath}})
			file.set("test_kit", m.seldom())
		case "other.yaml":
			file.set("package", "other")
		default:
			if m.upTo(3) > 0 {
				file.set("package", m.one("package", belowNames))
			}
		}
		files[place] = []byte(file.String())
	}
	return files
}

// renamed changes the names of types in the texts of a piece of a catalogue.
func renamed(value any, name func(string) string) any {
	switch value := value.(type) {
	case object:
		all := object{}
		for key, inside := range value {
			all[key] = renamed(inside, name)
		}
		return all
	case []string: // of mixins, among others
		var all []string
		for _, inside := range value {
			all = append(all, renamed(inside, name).(string))
		}
		return all
	case string:
		bare, mark := catalog.CutMark(value)
		i := strings.LastIndexByte(bare, ']') + 1
		return bare[:i] + name(bare[i:]) + mark
	}
	return value
}
