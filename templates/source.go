package templates

import (
	"bytes"
	"go/format"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// The packages that generated code imports, besides those of the standard
// library.
const (
	modulePath  = "github.com/busgen/busgen"
	runtimePath = modulePath + "/runtime"
	askPath     = modulePath + "/runtime/ask"
	bindPath    = modulePath + "/runtime/gen/bind"
	stepPath    = modulePath + "/runtime/step"
	declarePath = modulePath + "/runtime/declare"
	retryPath   = modulePath + "/runtime/retry"
	checksPath  = modulePath + "/runtime/gen/checks"
	wirePath    = modulePath + "/runtime/gen/wire"
	breakerPath = modulePath + "/runtime/breaker"
	deepPath    = modulePath + "/runtime/gen/deep"
	kitPath     = modulePath + "/runtime/runtimetest"
	uuidPath    = "github.com/google/uuid"
)

// inRuntime refers to a name of the runtime package.
func inRuntime(name string) *jen.Statement { return jen.Qual(runtimePath, name) }

// inAsk refers to a name of the ask package.
func inAsk(name string) *jen.Statement { return jen.Qual(askPath, name) }

// inBind refers to a name of the bind package.
func inBind(name string) *jen.Statement { return jen.Qual(bindPath, name) }

// inStep refers to a name of the step package.
func inStep(name string) *jen.Statement { return jen.Qual(stepPath, name) }

// inDeclare refers to a name of the declare package.
func inDeclare(name string) *jen.Statement { return jen.Qual(declarePath, name) }

// inChecks refers to a name of the checks package.
func inChecks(name string) *jen.Statement { return jen.Qual(checksPath, name) }

// inDeep refers to a name of the deep package.
func inDeep(name string) *jen.Statement { return jen.Qual(deepPath, name) }

// source makes a file of the package generated from c.
func source(header string, c *catalog.Catalogue, constructs []jen.Code) ([]byte, error) {
	file := jen.NewFile(c.Package.V)
	for _, p := range c.Imports {
		file.ImportAlias(p.ImportPath(), goodAlias(p.Name.V))
	}
	for _, t := range slices.Concat(c.Types, c.Imported) {
		if t.IsCustom() {
			file.ImportAlias(t.Custom.Import.V, importAlias(t.Custom.Import.V))
		}
	}
	for _, g := range c.GoTypesUsed() {
		imported := g.Import.V
		switch name := importAlias(imported); {
		case slices.Contains([]string{"time", uuidPath, runtimePath}, imported): // which others refer to, too
		case importGroup(strconv.Quote(imported)) == 0 && path.Base(imported) == name:
			file.ImportName(imported, name) // of the standard library: it has that name
		default:
			file.ImportAlias(imported, name)
		}
	}
	code, err := render(file, header, constructs)
	if err != nil || !usesDeprecated(c, code) {
		return code, err
	}
	return allowDeprecated(code), nil
}

// render makes a formatted Go file of constructs, with a blank line between
// any two.
func render(file *jen.File, header string, constructs []jen.Code) ([]byte, error) {
	file.HeaderComment(header)
	file.NoFormat = true // it is done below, when the imports are in groups
	file.ImportNames(map[string]string{
		runtimePath: "runtime", retryPath: "retry", breakerPath: "breaker", kitPath: "runtimetest", uuidPath: "uuid",
		askPath: "ask", bindPath: "bind", stepPath: "step", declarePath: "declare", checksPath: "checks", deepPath: "deep", wirePath: "wire",
	})
	for i, construct := range constructs {
		if i%constructsPerPiece == 0 {
			file.Id(cut).Line()
		}
		file.Add(construct)
		file.Line()
	}
	var rendered bytes.Buffer
	if err := file.Render(&rendered); err != nil {
		return nil, err
	}
	// Jennifer writes a blank before the declaration that follows a comment. The formatter would not see a doc
	// comment then, and would format the file differently the next time.
	unindented := bytes.ReplaceAll(rendered.Bytes(), []byte("\n "), []byte("\n"))
	return formatted(groupImports(unindented))
}

// A file is formatted in pieces, because the syntax tree of a large file is a hundred
// times the size of its text. The separator of pieces cannot occur in Go code.
const (
	cut                = "\x00"
	constructsPerPiece = 50
)

// formatted returns a file as gofmt formats it. The pieces between two cuts are whole
// declarations, with blank lines around them.
func formatted(code []byte) ([]byte, error) {
	const clause = "package p\n"
	var out bytes.Buffer
	for i, piece := range bytes.Split(code, []byte(cut)) {
		if i > 0 {
			piece = append([]byte(clause), piece...)
		}
		text, err := format.Source(piece)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text = bytes.TrimPrefix(text, []byte(clause))
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}

// groupImports splits the import block, which jennifer writes as one sorted
// list, into the standard library, other modules and busgen itself.
func groupImports(code []byte) []byte {
	const opening, closing = "\nimport (\n", "\n)\n"
	before, rest, found := strings.Cut(string(code), opening)
	if !found {
		return code
	}
	block, after, _ := strings.Cut(rest, closing)
	var groups [3][]string
	for line := range strings.SplitSeq(block, "\n") {
		g := importGroup(line)
		groups[g] = append(groups[g], line)
	}
	var grouped []string
	for _, lines := range groups {
		if lines != nil {
			grouped = append(grouped, strings.Join(lines, "\n"))
		}
	}
	return []byte(before + opening + strings.Join(grouped, "\n\n") + closing + after)
}

func importGroup(line string) int {
	_, path, _ := strings.Cut(line, `"`)
	host, _, _ := strings.Cut(path, "/")
	switch {
	case strings.HasPrefix(path, modulePath+"/"):
		return 2
	case strings.Contains(host, "."):
		return 1
	}
	return 0
}

// Layouts that jennifer has no word for: calls and literals with one item per
// line, and a function body on the line of its function.
var (
	linesInParens = jen.Options{Open: "(", Close: ")", Separator: ",", Multi: true}
	linesInBraces = jen.Options{Open: "{", Close: "}", Separator: ",", Multi: true}
	oneLineBody   = jen.Options{Open: "{", Close: "}"}
)

// Linters report uses of deprecated names of other packages. Generated code must use
// all names of the catalogue, so this line switches the report off.
const mayUseDeprecated = "//lint:file-ignore SA1019 This file uses all of the catalogue, including what is deprecated."

// allowDeprecated adds that line below the header of a file.
func allowDeprecated(code []byte) []byte {
	header, rest, _ := bytes.Cut(code, []byte("\n"))
	return slices.Concat(header, []byte("\n"+mayUseDeprecated+"\n"), rest)
}

// usesDeprecated reports whether code, a file of c, uses a deprecated name of another
// package.
func usesDeprecated(c *catalog.Catalogue, code []byte) bool {
	for _, t := range c.Imported {
		alias := goodAlias(t.Package.Name.V) + "."
		uses := func(goName string) bool {
			return regexp.MustCompile(`\b` + regexp.QuoteMeta(alias+goName) + `\b`).Match(code)
		}
		if t.Deprecated.Written() && uses(t.GoName) {
			return true
		}
		for _, v := range t.Values {
			if v.Deprecated.Written() && uses(v.GoName) {
				return true
			}
		}
	}
	return false
}

// importAlias returns the name of an imported package in generated code. It depends only
// on the path: the package itself is not read.
func importAlias(path string) string {
	parts := strings.Split(path, "/")
	name := parts[len(parts)-1]
	if majorVersion.MatchString(name) && len(parts) > 1 {
		name = parts[len(parts)-2]
	}
	name, _, _ = strings.Cut(name, ".") // as in yaml.v3
	name = strings.TrimSuffix(strings.TrimPrefix(name, "go-"), "-go")
	name = strings.ToLower(strings.Map(asciiOnly, name))
	return goodAlias(strings.TrimLeft(name, "0123456789"))
}

// goodAlias changes a name that an imported package cannot have.
func goodAlias(name string) string {
	if len(name) < 3 || isTaken(name) {
		return name + "pkg"
	}
	return name
}

var majorVersion = regexp.MustCompile(`^v\d+$`)

// asciiOnly drops what cannot stand in a name.
func asciiOnly(r rune) rune {
	if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
		return r
	}
	return -1
}

// isTaken reports whether an imported package cannot have a name in generated code,
// because Go, another package or a variable has it.
func isTaken(name string) bool {
	return token.IsKeyword(name) || types.Universe.Lookup(name) != nil || takenNames.MatchString(name)
}

var takenNames = regexp.MustCompile(`^(ask|bind|breaker|bytes|checks|context|declare|deep|encoding|json|maps|regexp|retry|runtime|slices|step|strconv|time|uuid|wire|` +
	`answers?|contract|bus|ctx|data|err|handler|init|inner\d*|item|key|metadata|name|opts|other|path|payloads?|problems|same|text|value|within)$`)
