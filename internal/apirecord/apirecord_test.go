package apirecord

import (
	"flag"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "record the API as it is")

// The packages that docs/stability.md promises are those below runtime.
func TestTheGoAPIIsThatOfTheRecord(t *testing.T) {
	Check(t, *update, "testdata", "../../runtime")
}

// Packages in modules of their own are not among those of the root module, and each of these
// modules has a test that calls Check.
func TestEveryModuleBelowRuntimeThatProgramsImportHasARecord(t *testing.T) {
	const runtime = "../../runtime"
	sources := map[string]string{} // one that programs can import, by the folder of its module
	module := func(folder string) string {
		for ; folder != runtime; folder = filepath.Dir(folder) {
			if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
				break
			}
		}
		return folder
	}
	err := filepath.WalkDir(runtime, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "internal" || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		// Modules that are only tests have a package comment.
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && entry.Name() != "doc.go" {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly)
			if err != nil {
				return err
			}
			if file.Name.Name != "main" {
				sources[module(filepath.Dir(path))] = path
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"jetstream", "otel", "postgres", "prometheus"} {
		if sources[filepath.Join(runtime, want)] == "" {
			t.Errorf("the module %s was not found", want)
		}
	}
	delete(sources, runtime)
	for folder, source := range sources {
		name, _ := filepath.Rel(runtime, folder)
		records := filepath.ToSlash(filepath.Join("internal/apirecord/testdata", name))
		test, err := os.ReadFile(filepath.Join(folder, "api_test.go"))
		if call := "apirecord.Check(t, *updateAPI, \"../../" + records + "\", \".\")"; err != nil || !strings.Contains(string(test), call) {
			t.Errorf("programs can import %s: the module needs an api_test.go that calls %s, and CI must run it", source, call)
		}
		if files, _ := filepath.Glob(filepath.Join("testdata", name, "*.txt")); len(files) == 0 {
			t.Errorf("programs can import %s, and %s has no record", source, records)
		}
	}
}

// Each of these breaks a program, or does not.
func TestARecordTellsWhatBreaksPrograms(t *testing.T) {
	for _, c := range []struct{ name, before, after, broken, added string }{
		{"another name of a parameter", "func F(a int) {}", "func F(b int) {}", "", ""},
		{"a function is gone", "func F() {}", "", "func F()", ""},
		{"an unexported one is gone", "func f() {}", "", "", ""},
		{"one more result", "func F() error { return nil }", "func F() (int, error) { return 0, nil }", "func F() error", "func F() (int, error)"},
		{"a parameter becomes variadic", "func F(a []int) {}", "func F(a ...int) {}", "func F([]int)", "func F(...int)"},
		{"a constraint is tightened", "func F[T any](t T) {}", "func F[T comparable](t T) {}", "func F[T any](T)", "func F[T comparable](T)"},
		{"one more field", "type S struct{ A int }", "type S struct{ A, B int }", "", "field S.B int"},
		{"a field of another type", "type S struct{ A int }", "type S struct{ A int64 }", "field S.A int", "field S.A int64"},
		{"an unexported field", "type S struct{ a int }", "type S struct{ b string }", "", ""},
		{"a method needs a pointer", "type S struct{}; func (S) M() {}", "type S struct{}; func (*S) M() {}", "method (S) M()", "method (*S) M()"},
		{"a promoted method is gone", "type e struct{}; func (e) M() {}; type S struct{ e }", "type e struct{}; type S struct{ e }", "method (S) M()", ""},
		{"an interface gets a method", "type I interface{ A() }", "type I interface{ A(); B() }", "type I interface { A() }", "type I interface { A(); B() }"},
		{"a constraint gets a type", "type I interface{ ~int }", "type I interface{ ~int | ~string }", "type I interface { ~int }", "type I interface { ~int | ~string }"},
		{"another type of a constant", "const C = 1", `const C = "1"`, "const C untyped int", "const C untyped string"},
		{"another value of a constant", "const C = 1", "const C = 2", "", ""},
		{"an alias of another type", "type A = int", "type A = string", "type A = int", "type A = string"},
		{"a variable", "var V int", "var V string", "var V int", "var V string"},
	} {
		broken, added := Compare(listed(t, c.before), listed(t, c.after))
		if got := strings.Join(broken, "\n"); got != c.broken {
			t.Errorf("%s: broken is %q, want %q", c.name, got, c.broken)
		}
		if got := strings.Join(added, "\n"); got != c.added {
			t.Errorf("%s: added is %q, want %q", c.name, got, c.added)
		}
	}
}

func TestAnAliasOfAnInternalTypeHasItsFieldsAndMethods(t *testing.T) {
	packages, err := Load("../..", "./runtime")
	if err != nil {
		t.Fatal(err)
	}
	lines := List(packages["github.com/busgen/busgen/runtime"])
	for _, want := range []string{"field TimeoutError.Attempt int", "type TimeoutError struct", "func Open(context.Context, string, *Catalogue, ...Option) (*Bus, error)"} {
		if !slices.Contains(lines, want) {
			t.Errorf("there is no %q", want)
		}
	}
}

func TestAPackageThatDoesNotCompileIsAnError(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module broken\n\ngo 1.26\n", "a.go": "package broken\n\nvar V = missing\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(folder, "./..."); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("Load: %v", err)
	}
}

func listed(t *testing.T, source string) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "p.go", "package p\n"+source, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: importer.Default()}
	p, err := config.Check("example.com/p", set, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return List(p)
}
