package parse

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
)

// readJSONNames reads `json_names:` of a file. A file without it has that of the file that includes it; the root is
// included by "".
func (r *Names) readJSONNames(o object, file, in string) {
	r.styles[file] = r.jsonNames(o, r.styles[in])
}

// namesIn returns the JSON names of the file that a node is in.
func (r *Names) namesIn(n *yaml.Node) catalog.JSONNames { return r.styles[r.position(n).File] }

// jsonNames reads `json_names:`, or returns those of what is around o.
func (r *Names) jsonNames(o object, around catalog.JSONNames) catalog.JSONNames {
	e, ok := o.entries["json_names"]
	if !ok {
		return around
	}
	style, ok := r.text(e.value, "json_names of "+o.what)
	if !ok {
		return around
	}
	names, known := catalog.JSONNamesBy[style.V]
	if !known {
		f := r.report(r.place(e.value), rules.UnknownValue, "json_names of %s is %s", o.what, diag.Label(style.V))
		if f.Hint = diag.DidYouMean(style.V, []string{"camel", "pascal", "snake"}); f.Hint == "" {
			f.Hint = "choose camel, pascal or snake"
		}
		return around
	}
	return names
}

// ownJSONName reads `json:` of a field. It is not written without one, and after a finding.
func (r *Names) ownJSONName(o object) catalog.Value[string] {
	e, ok := o.entries["json"]
	if !ok {
		return catalog.Value[string]{}
	}
	name, ok := r.text(e.value, "json of "+o.what)
	if !ok || !r.checkJSONName(e.value, name.V, "json of "+o.what+" is %s") {
		return catalog.Value[string]{}
	}
	return name
}

// checkJSONName reports a name that no field can have in JSON. The subject has a place for the name.
func (r *Names) checkJSONName(n *yaml.Node, name, subject string) bool {
	reason := catalog.CheckJSONName(name)
	if reason == "" {
		return true
	}
	r.report(r.place(n), rules.BadName, subject+", which is not a valid name in JSON: %s", diag.Label(name), reason).
		Hint = catalog.JSONNameHint
	return false
}

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
