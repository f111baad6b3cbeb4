package names

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
)

// AddJSONNames reads `json_names:` of a file. A file without it has that of the file that includes it; the root is
// included by "".
func (r *Names) AddJSONNames(o text.Object, file, in string) {
	r.styles[file] = r.JSONNames(o, r.styles[in])
}

// NamesIn returns the JSON names of the file that a node is in.
func (r *Names) NamesIn(n *yaml.Node) catalog.JSONNames { return r.styles[r.Position(n).File] }

// JSONNames reads `json_names:`, or returns those of what is around o.
func (r *Names) JSONNames(o text.Object, around catalog.JSONNames) catalog.JSONNames {
	style, n := r.TextOf(o, "json_names")
	if n == nil {
		return around
	}
	names, known := catalog.JSONNamesBy[style.V]
	if !known {
		r.Report(r.Place(n), rules.UnknownValue, "json_names of %s is %s", o.What, diag.Label(style.V)).
			Hint = cmp.Or(diag.DidYouMean(style.V, []string{"camel", "pascal", "snake"}), "choose camel, pascal or snake")
		return around
	}
	return names
}

// OwnJSONName reads `json:` of a field. It is not written without one, and after a finding.
func (r *Names) OwnJSONName(o text.Object) catalog.Value[string] {
	name, n := r.TextOf(o, "json")
	if n == nil || !r.CheckJSONName(n, name.V, "json of "+o.What+" is %s") {
		return catalog.Value[string]{}
	}
	return name
}

// CheckJSONName reports a name that no field can have in JSON. The subject has a place for the name.
func (r *Names) CheckJSONName(n *yaml.Node, name, subject string) bool {
	reason := catalog.CheckJSONName(name)
	if reason == "" {
		return true
	}
	r.Report(r.Place(n), rules.BadName, subject+", which is not a valid name in JSON: %s", diag.Label(name), reason).
		Hint = catalog.JSONNameHint
	return false
}

// Namespaces collects the proper prefixes of names on the wire, sorted by name, with
// their events in file order. A prefix that could not be the name of an event in the catalogue has none.
func (r *Names) Namespaces(events []*catalog.Event) []*catalog.Namespace {
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
				byName[name] = &catalog.Namespace{Name: name, GoName: r.GoName(name)}
				all = append(all, byName[name])
			}
			byName[name].Events = append(byName[name].Events, e)
		}
	}
	slices.SortFunc(all, func(a, b *catalog.Namespace) int { return strings.Compare(a.Name, b.Name) })
	return all
}
