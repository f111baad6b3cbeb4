package names

import (
	"errors"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/mod/module"
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/format"
	"github.com/busgen/busgen/internal/glob"
)

// Names reads the names of one catalogue.
type Names struct {
	*text.Reader
	initialisms []string                     // those of the catalogue
	styles      map[string]catalog.JSONNames // the JSON names of files
}

// New returns a reader of names without initialisms.
func New(r *text.Reader) *Names { return &Names{Reader: r, styles: map[string]catalog.JSONNames{}} }

// Read reads what the root says of the Go package.
func (r *Names) Read(root text.Object, c *catalog.Catalogue) {
	if e, ok := r.Required(root, "package", "add the name of the Go package to generate, such as \"package: events\""); ok {
		c.Package, _ = r.GoPackage(e)
	}
	c.ImportPath = r.OwnImportPath(root)
	c.TestKit = r.Flag(root, "test_kit").V
}

// GoName is [catalog.GoName] with the initialisms of the catalogue.
func (r *Names) GoName(name string) string { return catalog.GoName(name, r.initialisms...) }

// initialism matches an entry of `initialisms:`.
var initialism = regexp.MustCompile(`^[A-Z][A-Z0-9]*$`)

// ReadInitialisms reads `initialisms:`.
func (r *Names) ReadInitialisms(o text.Object) {
	for item, word := range r.Texts(o.Entries["initialisms"], "initialisms", "a list") {
		if !initialism.MatchString(word.V) {
			r.Report(r.Place(item), rules.BadName, "%s is not a valid initialism", diag.Label(word.V)).
				Hint = "use capitals and digits, and begin with a letter, as in GTIN"
			continue
		}
		r.initialisms = append(r.initialisms, word.V)
	}
}

// OwnGoName returns the Go name that o asks for, or else usual.
func (r *Names) OwnGoName(o text.Object, usual string) string {
	name, n := r.TextOf(o, "go_name")
	switch {
	case n == nil:
	case !catalog.TypeName.MatchString(name.V):
		r.Report(r.Place(n), rules.BadName, "go_name of %s is %s, which is not an exported Go name", o.What, diag.Label(name.V)).
			Hint = "begin with a capital and go on with letters and digits, as in OrderLine"
	default:
		return name.V
	}
	return usual
}

// SchemaName reads `schema:` of a type or an event. It is not written without one, and after a finding.
func (r *Names) SchemaName(o text.Object) catalog.Value[string] {
	name, n := r.TextOf(o, "schema")
	if n != nil && !catalog.SchemaName.MatchString(name.V) {
		r.Report(r.Place(n), rules.BadName, "schema of %s is %s, which cannot be the name of a schema", o.What, diag.Label(name.V)).
			Hint = "use up to 200 letters, digits, dots, hyphens and underscores, as in order-placed"
		return catalog.Value[string]{}
	}
	return name
}

// importedNames lists the packages that generated files import. A generated package with such a name could
// not be used beside them.
var importedNames = []string{"breaker", "context", "json", "retry", "runtime", "strconv", "time", "uuid", "wire"}

// predeclared lists the names that every Go file knows. Package go/types has them too, and would be a
// part of every program that imports runtime/tuning.
var predeclared = []string{
	"any", "append", "bool", "byte", "cap", "clear", "close", "comparable", "complex", "complex128", "complex64", "copy", "delete",
	"error", "false", "float32", "float64", "imag", "int", "int16", "int32", "int64", "int8", "iota", "len", "make", "max", "min", "new",
	"nil", "panic", "print", "println", "real", "recover", "rune", "string", "true", "uint", "uint16", "uint32", "uint64", "uint8", "uintptr",
}

// PackageProblem says why a package of generated code cannot have a name, and "" if it can.
func PackageProblem(name string) string {
	switch {
	case token.IsKeyword(name):
		return "it is a keyword of Go"
	case !token.IsIdentifier(name):
		return "it is not a Go identifier"
	case name == "_" || name == "main" || name == "init":
		return "it cannot be imported"
	case strings.HasSuffix(name, "_test"):
		return "names in _test are for tests"
	case slices.Contains(predeclared, name):
		return "it is a predeclared name of Go"
	case slices.Contains(importedNames, name):
		return "generated code imports a package of that name"
	}
	return ""
}

// GoPackage reads the name of a package of generated code.
func (r *Names) GoPackage(e text.Entry) (catalog.Value[string], bool) {
	name, ok := r.Text(e.Value, "package")
	if !ok {
		return name, false
	}
	problem := PackageProblem(name.V)
	if problem != "" {
		r.Report(r.Place(e.Value), rules.Package, "package cannot be named %s: %s", diag.Label(name.V), problem).
			Hint = "use a short lower-case name, such as events"
	}
	return name, problem == ""
}

// OwnImportPath reads `import_path:`, which stands in for go.mod.
func (r *Names) OwnImportPath(o text.Object) catalog.Value[string] {
	e, ok := o.Entries["import_path"]
	if !ok {
		return catalog.Value[string]{}
	}
	v, ok := r.Text(e.Value, "import_path")
	if ok {
		if reason := ImportPathProblem(v.V); reason != "" {
			r.Report(r.Place(e.Value), rules.BadName, "import_path cannot be %s: %s", diag.Label(v.V), reason).
				Hint = "write the path by which Go code imports the generated package, such as example.org/shop/events"
		}
	}
	return v
}

// SyntaxOf reports a name that is no event name or pattern, at the character
// where err says that it goes wrong. The format takes the name and the reason.
func (r *Names) SyntaxOf(name string, n *yaml.Node, err error, rule *diag.Rule, format string) {
	at, reason := r.Place(n), err.Error()
	var syntax *glob.SyntaxError
	if errors.As(err, &syntax) {
		reason = syntax.Reason
		if rest := name[syntax.Offset:]; rest != "" {
			_, width := utf8.DecodeRuneInString(rest)
			at = r.PlaceIn(n, syntax.Offset, width)
		}
	}
	r.Report(at, rule, format, diag.Label(name), reason)
}

// Pattern reads a pattern of event names. The format takes the pattern and the reason why it is none.
func (r *Names) Pattern(text string, n *yaml.Node, format string) (glob.Pattern, bool) {
	pattern, err := glob.Parse(text)
	if err != nil {
		r.SyntaxOf(text, n, err, rules.BadGlob, format)
	}
	return pattern, err == nil
}

// CheckName reports whether something can have the name of a subscription, as groups, schedules and limits can, too.
// example is such a name.
func (r *Names) CheckName(name string, n *yaml.Node, what, example string) bool {
	switch {
	case !catalog.SubscriptionName.MatchString(name):
		r.Report(r.Place(n), rules.BadName, "%s does not have a valid name", what).
			Hint = "begin with a lower-case letter and go on with lower-case letters, digits and single -, _ or . between them, as in " + example
	case len(name) > format.MaxSubscriptionName:
		r.Report(r.Place(n), rules.BadName, "%s has a name of %d characters", what, len(name)).
			Hint = "use at most " + strconv.Itoa(format.MaxSubscriptionName)
	default:
		return true
	}
	return false
}

// ImportPathProblem says why Go can import nothing by a path. It is empty for a good one.
func ImportPathProblem(path string) string {
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
