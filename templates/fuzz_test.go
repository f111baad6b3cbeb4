package templates

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/catalogtest"
	"github.com/busgen/busgen/internal/output"
	"github.com/busgen/busgen/internal/payload"
)

// FuzzGenerate reads any text as a catalogue. Whatever is free of findings must
// give code that is formatted, compiles and is the same every time.
func FuzzGenerate(f *testing.F) {
	short.Visit(f, "it compiles")
	paths, _ := filepath.Glob(casesFolder + "/*/events.yaml")
	for _, path := range append(paths, "testdata/features.yaml", "starter/events.yaml", "../examples/events.yaml") {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	prepare(f)
	f.Fuzz(func(t *testing.T, text string) {
		if c, _ := parse.Text("events.yaml", []byte(text)); c != nil {
			requireGood(t, c, nil)
		}
	})
}

// The same for catalogues that are made, and not found by changing bytes.
func FuzzGenerateFromMadeCatalogues(f *testing.F) {
	prepare(f)
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { checkMade(t) }))
}

func TestAMadeCatalogueHasFindingsOrCompiles(t *testing.T) {
	compiled := 0
	rapid.Check(t, func(t *rapid.T) {
		if checkMade(t) {
			compiled++
		}
	})
	if compiled == 0 {
		t.Error("every catalogue has findings")
	}
}

func checkMade(t *rapid.T) bool {
	text := catalogtest.Made(t)
	c, _ := parse.Text("events.yaml", []byte(text))
	if c != nil {
		requireGood(t, c, nil)
	}
	return c != nil
}

// tb is what *testing.T and *rapid.T have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// requireGood checks the code of a catalogue, and of those that it imports, by import path.
func requireGood(t tb, c *catalog.Catalogue, imported map[string]*catalog.Catalogue) {
	t.Helper()
	packages := map[string][]output.File{}
	addCode(t, packages, here, c)
	for path, other := range imported {
		addCode(t, packages, Target{ImportPath: path}, other)
	}
	for _, e := range c.Events {
		if err := payload.Check(c, e.Name.V, e.Version.V, e.Sample()); err != nil {
			t.Fatalf("the sample of %s is not valid: %v\n%s", e.Name.V, err, e.Sample())
		}
		for version := 1; version <= e.Version.V; version++ {
			for _, form := range catalogtest.WireForms(e, version) {
				if err := payload.CheckDecode(c, e.Name.V, version, form); err != nil {
					t.Fatalf("a wire form of %s cannot be decoded: %v\n%s", e.Name.V, err, form)
				}
			}
		}
	}
	unknown, err := typeCheck(packages)
	if unknown != "" && slices.Contains(foreign(c), unknown) {
		return // a package of the user's that there is not
	}
	if isOfUser(c, err) {
		return
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// isOfUser tells whether the compiler misses a Go type that the user supplies, in a package that there is.
func isOfUser(c *catalog.Catalogue, err error) bool {
	wrong, ok := errors.AsType[types.Error](err)
	if !ok {
		return false
	}
	name, undefined := strings.CutPrefix(wrong.Msg, "undefined: ")
	name, noType := strings.CutSuffix(name, " is not a type")
	_, name, _ = strings.Cut(name, ".")
	names := []string{}
	for _, t := range c.Types {
		if t.Custom != nil {
			names = append(names, t.Custom.Name.V)
		}
	}
	for _, t := range c.GoTypes {
		names = append(names, t.Name.V)
	}
	return (undefined || noType) && slices.Contains(names, name)
}

// foreign lists the packages of the Go types that the user supplies.
func foreign(c *catalog.Catalogue) (paths []string) {
	for _, t := range c.Types {
		if t.Custom != nil {
			paths = append(paths, t.Custom.Import.V)
		}
	}
	for _, t := range c.GoTypes {
		paths = append(paths, t.Import.V)
	}
	return paths
}

// addCode generates the packages of a catalogue.
func addCode(t tb, packages map[string][]output.File, at Target, c *catalog.Catalogue) {
	t.Helper()
	files, err := Files(c, at)
	if err != nil {
		t.Fatalf("%v", err)
	}
	again, err := Files(c, at)
	if diff := cmp.Diff(files, again); err != nil || diff != "" {
		t.Fatalf("the second time it is something else: %v\n%s", err, diff)
	}
	importPath, err := at.importPath(c)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, p := range append([]*catalog.Package{nil}, c.Packages...) {
		upcasts, err := withUpcasts(c.In(p, importPath))
		if err != nil {
			t.Fatalf("%v", err)
		}
		file := output.File{Name: "upcasts.go", Content: []byte(upcasts)}
		if p != nil {
			file.Name = p.Name.V + "/" + file.Name
		}
		files = append(files, file)
	}
	for _, file := range files {
		of := path.Join(importPath, path.Dir(file.Name))
		packages[of] = append(packages[of], file)
	}
}

// typeCheck returns an error if a package does not compile or is not formatted, and with it a package that it imports
// and that cannot be read.
func typeCheck(packages map[string][]output.File) (unknown string, err error) {
	compiled, err := compiledPackages()
	if err != nil {
		return "", err
	}
	g := &generatedToo{set: token.NewFileSet(), packages: packages, checked: map[string]*types.Package{}}
	g.ImporterFrom = importer.ForCompiler(g.set, "gc", func(path string) (io.ReadCloser, error) {
		file, ok := compiled[path]
		if !ok {
			unknown = path
			return nil, fmt.Errorf("nobody has compiled %s", path)
		}
		return os.Open(file)
	}).(types.ImporterFrom)
	for path := range packages {
		if _, err := g.Import(path); err != nil {
			return unknown, err
		}
	}
	return "", nil
}

// generatedToo is an importer that also has packages which were only generated.
type generatedToo struct {
	types.ImporterFrom
	set      *token.FileSet
	packages map[string][]output.File
	checked  map[string]*types.Package
	open     []string // those that are being imported
}

func (g *generatedToo) Import(path string) (*types.Package, error) {
	return g.ImportFrom(path, "", 0)
}

func (g *generatedToo) ImportFrom(path, dir string, mode types.ImportMode) (*types.Package, error) {
	files, generated := g.packages[path]
	switch {
	case !generated:
		return g.ImporterFrom.ImportFrom(path, dir, mode)
	case g.checked[path] != nil:
		return g.checked[path], nil
	case slices.Contains(g.open, path):
		return nil, fmt.Errorf("packages import one another: %v %s", g.open, path)
	}
	g.open = append(g.open, path)
	defer func() { g.open = g.open[:len(g.open)-1] }()
	pkg, err := typeCheckPackage(g.set, path, g, files)
	g.checked[path] = pkg
	return pkg, err
}

func typeCheckPackage(set *token.FileSet, path string, from types.Importer, files []output.File) (*types.Package, error) {
	var parsed []*ast.File
	for _, file := range files {
		formatted, err := format.Source(file.Content)
		if err != nil || !bytes.Equal(formatted, file.Content) {
			return nil, fmt.Errorf("%s is not formatted: %v\n%s", file.Name, err, file.Content)
		}
		f, err := parser.ParseFile(set, file.Name, file.Content, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
	}
	config := types.Config{Importer: from, GoVersion: "go1.26"}
	pkg, err := config.Check(path, set, parsed, nil)
	if err == nil {
		return pkg, nil
	}
	for _, file := range files {
		if strings.HasPrefix(err.Error(), file.Name) {
			return nil, fmt.Errorf("%w\n%s", err, file.Content)
		}
	}
	return nil, err
}

// prepare compiles before the first input what the generated code imports: go test takes an
// input that needs more than ten seconds for one that never ends.
func prepare(f *testing.F) {
	f.Helper()
	if _, err := compiledPackages(); err != nil {
		f.Fatal(err)
	}
}

// compiledPackages says where the compiled form of each package is that generated
// code may import, and of a few that stand for those of custom types.
var compiledPackages = sync.OnceValues(func() (map[string]string, error) {
	out, err := exec.Command("go", "list", "-deps", "-export", "-f", "{{if .Export}}{{.ImportPath}}={{.Export}}{{end}}",
		runtimePath, bindPath, deepPath, kitPath, stepPath, "testing", "maps", "regexp", "slices", "net/netip", "math/big", "net/url").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	imports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			imports[path] = file
		}
	}
	return imports, nil
})
