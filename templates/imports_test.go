package templates

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"
)

func TestTheNameOfAnImportIsMadeOfItsPath(t *testing.T) {
	for path, want := range map[string]string{
		"net/netip":                     "netip",
		"github.com/shopspring/decimal": "decimal",
		"github.com/acme/go-money/v2":   "money",
		"gopkg.in/yaml.v3":              "yaml",
		"example.com/My_Types":          "mytypes",
		"math/big":                      "big",
		"example.com/x":                 "xpkg",
		"example.com/func":              "funcpkg",
		"example.com/string":            "stringpkg",
		"example.com/runtime":           "runtimepkg",
		"example.com/init":              "initpkg",
		"example.com/contract":          "contractpkg",
		"example.com/123":               "pkg",
		"example.com/~":                 "pkg",
		"v2":                            "v2pkg",
	} {
		if got := importAlias(path); got != want {
			t.Errorf("%s is called %s, want %s", path, got, want)
		}
	}
}

// A package with the name of a variable would be hidden by it.
func TestNoVariableOfGeneratedCodeHidesAnImport(t *testing.T) {
	paths, _ := filepath.Glob(casesFolder + "/*/*.gen.go.golden")
	more, _ := filepath.Glob("testdata/features/*.gen.go")
	seen := 0
	for _, path := range append(paths, more...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if ok && id.Obj != nil && !id.IsExported() && (id.Obj.Kind == ast.Var || id.Obj.Kind == ast.Con) {
				seen++
				if importAlias("example.com/"+id.Name) == id.Name {
					t.Errorf("%s: a package could be called %s, like this variable", path, id.Name)
				}
			}
			return true
		})
	}
	if seen < 1000 {
		t.Errorf("saw %d variables", seen)
	}
}
