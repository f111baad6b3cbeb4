package parse

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/module"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// importPathProblem says why Go can import nothing by a path. It is empty for a good one.
func importPathProblem(path string) string {
	var invalid *module.InvalidPathError
	switch err := module.CheckImportPath(path); {
	case errors.As(err, &invalid):
		return invalid.Err.Error()
	case err != nil:
		return err.Error()
	case path == "C" || path == "unsafe":
		return path + " is not a package with files of its own"
	case slices.Contains(strings.Split(path, "/"), "vendor"):
		return "Go imports a copy in a folder vendor by the path behind it"
	}
	return ""
}

var exported = regexp.MustCompile(`^[A-Z][A-Za-z0-9_]*$`)

func exportedProblem(name string) string {
	if exported.MatchString(name) {
		return ""
	}
	return "an exported name of Go is a capital and then letters, digits and _"
}

// custom reads `go:`, a type that somebody else has written, and `type:`, the
// form in which it travels.
func (r *Types) custom(o object, t *catalog.Type) {
	t.Custom = &catalog.Custom{}
	inner, ok := r.object(o.entries["go"].value, "go of "+o.what, "import", "type")
	if ok {
		t.Custom.Import = r.goPart(inner, "import", "the path of a package, such as github.com/shopspring/decimal", importPathProblem)
		t.Custom.Name = r.goPart(inner, "type", "the name of a type that the package exports, such as Decimal", exportedProblem)
	}
	e, ok := r.required(o, "type", "add what its JSON is, such as type: string")
	if !ok {
		return
	}
	t.Custom.JSON = r.typeRef(e.value, o.what, nil)
	if ref := t.Custom.JSON; ref != nil && (ref.MayBeNil() || ref.Declared() != nil) {
		r.report(r.place(e.value), rules.BadType, "the type of %s is %s; its JSON must be that of a built-in type, or a list or map of one", o.what, ref.Text).
			Hint = "use json if nothing else fits"
		t.Custom.JSON = nil
	}
	if t.Custom.JSON == nil {
		t.Custom.JSON = &catalog.TypeRef{Kind: catalog.JSON, Text: "json"} // there is a finding
	}
}

// goPart reads a text of Go's own.
func (r *Types) goPart(o object, key, hint string, problem func(string) string) catalog.Value[string] {
	e, ok := r.required(o, key, "add "+hint)
	if !ok {
		return catalog.Value[string]{}
	}
	v, ok := r.text(e.value, key+" of "+o.what)
	if ok {
		if reason := problem(v.V); reason != "" {
			r.report(r.place(e.value), rules.BadName, "%s of %s cannot be %s: %s", key, o.what, diag.Label(v.V), reason).
				Hint = "write " + hint
		}
	}
	return v
}
