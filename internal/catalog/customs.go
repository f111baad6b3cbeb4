package catalog

import "regexp"

// isImportPath tells whether Go can import something by a path.
func isImportPath(path string) bool {
	return importPath.MatchString(path) && path != "C" && path != "unsafe"
}

var (
	importPath = regexp.MustCompile(`^[A-Za-z0-9_.~+-]+(/[A-Za-z0-9_.~+-]+)*$`)
	exported   = regexp.MustCompile(`^[A-Z][A-Za-z0-9_]*$`)
)

// custom reads `go:`, a type that somebody else has written, and `type:`, the
// form in which it travels.
func (r *reader) custom(o object, t *Type) {
	t.Custom = &Custom{}
	inner, ok := r.object(o.entries["go"].value, "go of "+o.what, "import", "type")
	if ok {
		t.Custom.Import = r.goPart(inner, "import", "the path of a package, such as github.com/shopspring/decimal", isImportPath)
		t.Custom.Name = r.goPart(inner, "type", "the name of a type that the package exports, such as Decimal", exported.MatchString)
	}
	e, ok := r.required(o, "type", "add what its JSON is, such as type: string")
	if !ok {
		return
	}
	t.Custom.JSON = r.typeRef(e.value, o.what, nil)
	if ref := t.Custom.JSON; ref != nil && (ref.Optional || ref.named() != nil) {
		r.report(r.place(e.value), RuleBadType, "the type of %s is %s; its JSON must be that of a built-in type, or a list or map of one", o.what, ref.Text).
			Hint = "use json if nothing else fits"
		t.Custom.JSON = nil
	}
	if t.Custom.JSON == nil {
		t.Custom.JSON = &TypeRef{Kind: JSON, Text: "json"} // there is a finding
	}
}

// goPart reads a text of Go's own.
func (r *reader) goPart(o object, key, hint string, fits func(string) bool) Value[string] {
	e, ok := r.required(o, key, "add "+hint)
	if !ok {
		return Value[string]{}
	}
	v, ok := r.text(e.value, key+" of "+o.what)
	if ok && !fits(v.V) {
		r.report(r.place(e.value), RuleBadName, "%s of %s is %s", key, o.what, label(v.V)).
			Hint = "write " + hint
	}
	return v
}
