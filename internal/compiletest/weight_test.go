package compiletest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
)

// The compiler makes some of what a type leads to again in each package that names it; see runtime/inner.go. Methods of
// atomic.Pointer[error] are database/sql's. Generated code has no functions with a type parameter for each event.
var insides = regexp.MustCompile(`busgen/runtime\.(Publish|Subscribe|SubscribeNamespace|Describe)\[|sync/atomic\.\(\*Pointer\[|internal/sync\.\(\*HashTrieMap|sync\.poolChain|github\.com/busgen/busgen/runtime/internal/`)
var ofSQL = regexp.MustCompile(`sync/atomic\.\(\*Pointer\[(error|go\.shape\.interface \{ Error\(\) string \})\]`)

func TestGeneratedCodeCompilesNothingOfWhatIsInsideOfTheRuntime(t *testing.T) {
	short.Visit(t, "it compiles programs")
	object, found := compile(t, eventsPath, generated(t), nil)
	requireNone(t, found)
	requireNoInsides(t, object)
}

func TestAPackageThatNamesTheTypesOfTheRuntimeCompilesNothingOfWhatIsInside(t *testing.T) {
	var uses []string
	for _, name := range plainTypes(t, "../../runtime") {
		uses = append(uses, fmt.Sprintf("func _(*runtime.%s) {}\n", name))
	}
	if len(uses) < 50 {
		t.Fatalf("only %d types were found", len(uses))
	}
	object, found := compile(t, "example.com/shop/names", map[string]string{
		"names.go": "package names\n\nimport \"github.com/busgen/busgen/runtime\"\n\n" + strings.Join(uses, ""),
	}, nil)
	requireNone(t, found)
	requireNoInsides(t, object)
}

// requireNoInsides checks what has come out of the compiler.
func requireNoInsides(t *testing.T, object string) {
	t.Helper()
	symbols, err := exec.Command("go", "tool", "nm", object).Output()
	if err != nil {
		t.Fatal(err)
	}
	wrong := map[string]bool{}
	for line := range strings.Lines(string(symbols)) {
		if insides.MatchString(line) && !ofSQL.MatchString(line) {
			wrong[insides.FindString(line)+" in "+strings.TrimSpace(line[min(len(line), 12):min(len(line), 200)])] = true
		}
	}
	for _, symbol := range slices.Sorted(maps.Keys(wrong))[:min(len(wrong), 10)] {
		t.Errorf("%s: a type that programs name leads there", symbol)
	}
}

// plainTypes returns the names of the exported types of a package that have no type parameters.
func plainTypes(t *testing.T, folder string) (names []string) {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.TYPE {
				continue
			}
			for _, spec := range group.Specs {
				if s := spec.(*ast.TypeSpec); s.Name.IsExported() && s.TypeParams == nil && s.Name.Name != "HeaderValue" { // a constraint
					names = append(names, s.Name.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}
