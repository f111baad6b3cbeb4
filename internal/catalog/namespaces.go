package catalog

import (
	"slices"
	"strings"
)

// namespaces collects the proper prefixes of event names, sorted by name, with
// their events in file order.
func (r *reader) namespaces(events []*Event) []*Namespace {
	byName := map[string]*Namespace{}
	var all []*Namespace
	for _, e := range events {
		for i, c := range e.Name.V {
			if c != '.' {
				continue
			}
			name := e.Name.V[:i]
			if byName[name] == nil {
				byName[name] = &Namespace{Name: name, GoName: r.goName(name)}
				all = append(all, byName[name])
			}
			byName[name].Events = append(byName[name].Events, e)
		}
	}
	slices.SortFunc(all, func(a, b *Namespace) int { return strings.Compare(a.Name, b.Name) })
	return all
}
