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

// The packages that docs/stability.md promises are those below runtime. A record that is not
// updated is an error also if nothing is broken, so that each change of the API is seen in a diff.
func TestTheGoAPIIsThatOfTheRecord(t *testing.T) {
	dependOn(t, "../../runtime")
	packages, err := Load("../..", "./runtime/...")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for path, p := range packages {
		name := strings.ReplaceAll(strings.TrimPrefix(path, "github.com/busgen/busgen/"), "/", "_")
		file := filepath.Join("testdata", name+".txt")
		now := List(p)
		if len(now) == 0 {
			continue // what is left of it tells users of old generated code what to do
		}
		if *update {
			if err := os.WriteFile(file, []byte(strings.Join(now, "\n")+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%s has no record: %v", path, err)
			continue
		}
		recorded = slices.DeleteFunc(recorded, func(r string) bool { return r == file })
		broken, added := Compare(strings.Split(strings.TrimSpace(string(text)), "\n"), now)
		if len(broken) > 0 {
			t.Errorf("%s: programs that use these do not compile any more, or do something else:\n\t%s\n"+
				"Keep them. If that is not possible, CHANGELOG.md says how programs adapt, and go test ./internal/apirecord -update records it.",
				path, strings.Join(broken, "\n\t"))
		}
		if len(added) > 0 {
			t.Errorf("%s: these are not in the record, and are a promise from the next release on:\n\t%s\ngo test ./internal/apirecord -update records them.",
				path, strings.Join(added, "\n\t"))
		}
	}
	if !*update && len(recorded) > 0 {
		t.Errorf("records of packages that are gone, which breaks programs: %v", recorded)
	}
}

// dependOn makes go test run a test again when a source below a folder has changed. It cannot know
// what a process reads that the test starts.
func dependOn(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && (filepath.Ext(path) == ".go" || filepath.Ext(path) == "") {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
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
	packages, err := Load("../..", "./runtime/inspect")
	if err != nil {
		t.Fatal(err)
	}
	lines := List(packages["github.com/busgen/busgen/runtime/inspect"])
	for _, want := range []string{"field Status.Schema int", "type DeadLetter struct", "func Open(context.Context, string, ...Option) (*File, error)"} {
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
