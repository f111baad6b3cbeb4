package parse

import (
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/glob"
)

// namespaces collects the proper prefixes of names on the wire, sorted by name, with
// their events in file order. A prefix that could not be the name of an event in the catalogue has none.
func (r *Names) namespaces(events []*catalog.Event) []*catalog.Namespace {
	byName := map[string]*catalog.Namespace{}
	var all []*catalog.Namespace
	for _, e := range events {
		for i, c := range e.Name.V {
			if c != '.' {
				continue
			}
			name := e.Name.V[:i]
			if glob.ValidName(name) != nil {
				break
			}
			if byName[name] == nil {
				byName[name] = &catalog.Namespace{Name: name, GoName: r.goName(name)}
				all = append(all, byName[name])
			}
			byName[name].Events = append(byName[name].Events, e)
		}
	}
	slices.SortFunc(all, func(a, b *catalog.Namespace) int { return strings.Compare(a.Name, b.Name) })
	return all
}
