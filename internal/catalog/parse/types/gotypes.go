package types

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/names"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// ReadGoTypes reads `go_types:`, before any type of a field is read.
func (r *Types) ReadGoTypes(o text.Object, c *catalog.Catalogue) {
	e, ok := o.Entries["go_types"]
	if !ok {
		return
	}
	r.goTypes = map[catalog.Kind]*catalog.GoType{}
	entries, _ := r.Mapping(e.Value, "go_types")
	for _, e := range entries {
		if !r.mayBeRetyped(e) {
			continue
		}
		if g := r.goType(e, c); g != nil {
			c.GoTypes = append(c.GoTypes, g)
			r.goTypes[catalog.Scalars[e.Name]] = g
		}
	}
}

// mayBeRetyped reports an entry for something that has no other Go type.
func (r *Types) mayBeRetyped(e text.Entry) bool {
	kind, known := catalog.Scalars[e.Name]
	switch {
	case catalog.MayBeRetyped(kind):
		return true
	case known:
		r.Report(r.Place(e.Key), rules.BadType, "go_types cannot have %s, whose Go type is always the same", e.Name).
			Hint = "declare a named scalar or a custom Go type under types, and use its name"
	case declares(e.Name):
		r.Report(r.Place(e.Key), rules.BadType, "go_types cannot have %s, which is not a built-in type", diag.Label(e.Name)).
			Hint = "a declared type has its own Go type; a named scalar has that of its built-in type"
	default:
		r.Report(r.Place(e.Key), rules.UnknownType, "go_types has %s, which is not a built-in type", diag.Label(e.Name)).
			Hint = cmp.Or(diag.DidYouMean(e.Name, retyped()), "its keys are "+strings.Join(retyped(), ", "))
	}
	return false
}

// declares reports whether a name is that of a declared type and of nothing built in. Types are not read yet.
func declares(name string) bool { return catalog.TypeName.MatchString(name) }

// retyped lists the names of the built-in types that can have another Go type.
func retyped() []string {
	names := slices.Sorted(maps.Keys(catalog.Scalars))
	return slices.DeleteFunc(names, func(name string) bool { return !catalog.MayBeRetyped(catalog.Scalars[name]) })
}

// goTypeHint says how the Go types of go_types are written.
const goTypeHint = "write the path of its package and its name, such as github.com/shopspring/decimal.Decimal"

// goType reads a Go type that is written as one text, path.Name. It returns nil after a finding.
func (r *Types) goType(e text.Entry, c *catalog.Catalogue) *catalog.GoType {
	text, ok := r.Text(e.Value, "the Go type of "+e.Name)
	if !ok {
		return nil
	}
	i := strings.LastIndexByte(text.V, '.')
	if i < 0 || i < strings.LastIndexByte(text.V, '/') {
		r.Report(r.Place(e.Value), rules.BadName, "the Go type of %s is %s, which does not end in a point and a name", e.Name, diag.Label(text.V)).
			Hint = goTypeHint
		return nil
	}
	path, name := text.V[:i], text.V[i+1:]
	reason, at := names.ImportPathProblem(path), r.PlaceIn(e.Value, 0, i)
	if reason == "" {
		if reason = exportedProblem(name); reason != "" {
			at = r.PlaceIn(e.Value, i+1, len(name))
		}
	}
	switch {
	case reason == "" && path == c.ImportPath.V:
		r.Report(at, rules.Import, "the Go type of %s is in %s, the package that is generated, which would import itself", e.Name, path).
			Hint = "move the type into another package"
		return nil
	case reason != "":
		r.Report(at, rules.BadName, "the Go type of %s cannot be %s: %s", e.Name, diag.Label(text.V), reason).Hint = goTypeHint
		return nil
	}
	return &catalog.GoType{
		Of:     catalog.Value[string]{V: e.Name, Pos: r.Position(e.Key)},
		Import: catalog.Value[string]{V: path, Pos: text.Pos},
		Name:   catalog.Value[string]{V: name, Pos: r.PlaceIn(e.Value, i+1, len(name)).Pos},
	}
}

var exported = regexp.MustCompile(`^[A-Z][A-Za-z0-9_]*$`)

func exportedProblem(name string) string {
	if exported.MatchString(name) {
		return ""
	}
	return "an exported name of Go is a capital and then letters, digits and _"
}

// custom reads `go:`, a type of another Go package, and `type:`, the form in which it travels.
func (r *Types) custom(o text.Object, t *catalog.Type) {
	t.Custom = &catalog.Custom{}
	inner, ok := r.Object(o.Entries["go"].Value, "go of "+o.What, "import", "type")
	if ok {
		t.Custom.Import = r.goPart(inner, "import", "the path of a package, such as github.com/shopspring/decimal", names.ImportPathProblem)
		t.Custom.Name = r.goPart(inner, "type", "the name of a type that the package exports, such as Decimal", exportedProblem)
	}
	e, ok := r.Required(o, "type", "add what its JSON is, such as type: string")
	if !ok {
		return
	}
	t.Custom.JSON = r.TypeRef(e.Value, o.What, nil)
	if ref := t.Custom.JSON; ref != nil && (ref.MayBeNil() || ref.Declared() != nil) {
		r.Report(r.Place(e.Value), rules.BadType, "the type of %s is %s; its JSON must be that of a built-in type, or a list or map of one", o.What, ref.Text).
			Hint = "use json if nothing else fits"
		t.Custom.JSON = nil
	}
	if t.Custom.JSON == nil {
		t.Custom.JSON = &catalog.TypeRef{Kind: catalog.JSON, Text: "json"} // there is a finding
	}
}

// goPart reads a text of Go's own.
func (r *Types) goPart(o text.Object, key, hint string, problem func(string) string) catalog.Value[string] {
	e, ok := r.Required(o, key, "add "+hint)
	if !ok {
		return catalog.Value[string]{}
	}
	v, ok := r.Text(e.Value, key+" of "+o.What)
	if ok {
		if reason := problem(v.V); reason != "" {
			r.Report(r.Place(e.Value), rules.BadName, "%s of %s cannot be %s: %s", key, o.What, diag.Label(v.V), reason).
				Hint = "write " + hint
		}
	}
	return v
}
