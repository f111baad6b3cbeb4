package templates

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/output"
)

// Linters report whoever uses what is deprecated in another package (SA1019 of
// staticcheck). Generated code has to, and says that it may.
func TestCodeThatUsesDeprecatedNamesOfOtherPackagesSilencesLinters(t *testing.T) {
	files := parse.Memory{Text: map[string][]byte{
		"common.yaml": []byte(`
version: 1
package: common
types:
  Unit: { enum: { one: {}, dozen: { deprecated: count } } }
  Money: { deprecated: use Decimal, fields: { cents: int64 } }
  Method: { one_of: { cash: { fields: {} }, cheque: { deprecated: nobody takes them, fields: {} } } }
  Plain: { fields: { n: int } }
events:
  unit.changed: { deprecated: units do not change, payload: { n: int } }
`),
	}}
	parsed := func(body string) []output.File {
		c, findings := parse.TextWith(files, "events.yaml", []byte("version: 1\npackage: events\ntest_kit: true\ninclude: [common.yaml]\n"+body))
		if findings != nil {
			t.Fatal(findings)
		}
		return generate(t, c)
	}
	for body, want := range map[string]string{ // the files that use something deprecated
		"events: { ping: {} }":                                                    "eventstest/testkit.gen.go",
		"events: { ping: { payload: { p: Plain } } }":                             "eventstest/testkit.gen.go",
		"events: { ping: { payload: { m: Money } } }":                             "payloads.gen.go eventstest/testkit.gen.go",
		"events: { ping: { payload: { m: Method } } }":                            "payloads.gen.go codec.gen.go eventstest/testkit.gen.go",
		`events: { ping: { payload: { u: { type: "Unit?", default: dozen } } } }`: "payloads.gen.go eventstest/testkit.gen.go",
	} {
		emitted := parsed(body)
		var got, allowed []string
		deprecated := deprecatedNames(t, emitted)
		for _, file := range emitted {
			if usesAny(t, file, deprecated) {
				got = append(got, file.Name)
			}
			if strings.Contains(string(file.Content), "\n//lint:file-ignore SA1019 ") {
				allowed = append(allowed, file.Name)
			}
			if !output.Generated(file.Content) {
				t.Errorf("%s is no longer known as generated:\n%.200s", file.Name, file.Content)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: something deprecated is used in %v, want %s", body, got, want)
		}
		if strings.Join(allowed, " ") != want {
			t.Errorf("%s: something deprecated may be used in %v, want %s", body, allowed, want)
		}
	}
}

func TestCodeThatUsesDeprecatedNamesOfAnotherCatalogueSilencesLinters(t *testing.T) {
	files := parse.Memory{Text: map[string][]byte{"other.yaml": []byte("version: 1\npackage: other\nimport_path: example.org/other\n" +
		"types: { Old: { deprecated: use New, fields: {} }, New: { fields: {} } }\n")}}
	for used, want := range map[string]bool{"Old": true, "New": false} {
		c, findings := parse.TextWith(files, "events.yaml", []byte("version: 1\npackage: events\nimports: { other: other.yaml }\n"+
			"events: { ping: { payload: { o: other."+used+" } } }\n"))
		if findings != nil {
			t.Fatal(findings)
		}
		payloads := string(generate(t, c)[0].Content)
		if got := strings.Contains(payloads, "\n"+mayUseDeprecated+"\n"); got != want {
			t.Errorf("%s: it says so: %t, want %t\n%s", used, got, want, payloads)
		}
	}
}

// deprecatedNames lists the names that are deprecated, with the import paths of their packages.
func deprecatedNames(t *testing.T, files []output.File) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range files {
		pkg := path.Join(here.ImportPath, path.Dir(file.Name))
		note := func(doc *ast.CommentGroup, idents ...*ast.Ident) {
			for _, ident := range idents {
				names[pkg+"."+ident.Name] = strings.Contains("\n"+doc.Text(), "\nDeprecated: ")
			}
		}
		for _, decl := range syntaxOf(t, file).Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					note(decl.Doc, decl.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						note(decl.Doc, spec.Name)
					case *ast.ValueSpec:
						note(spec.Doc, spec.Names...)
					}
				}
			}
		}
	}
	return names
}

// usesAny tells whether a file refers to one of the names.
func usesAny(t *testing.T, file output.File, names map[string]bool) (uses bool) {
	t.Helper()
	tree := syntaxOf(t, file)
	imported := map[string]string{}
	for _, spec := range tree.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		name := path.Base(importPath)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imported[name] = importPath
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := selector.X.(*ast.Ident); ok {
				uses = uses || names[imported[pkg.Name]+"."+selector.Sel.Name]
			}
		}
		return true
	})
	return uses
}

func syntaxOf(t *testing.T, file output.File) *ast.File {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file.Name, file.Content, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
