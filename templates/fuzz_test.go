package templates

import (
	"bytes"
	"encoding/json"
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
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/emit"
)

// FuzzGenerate reads any text as a catalogue. Whatever is free of findings must
// give code that is formatted, compiles and is the same every time.
func FuzzGenerate(f *testing.F) {
	paths, _ := filepath.Glob(casesFolder + "/*/events.yaml")
	for _, path := range append(paths, "testdata/features.yaml", "starter/events.yaml", "../examples/events.yaml") {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, _ := catalog.Parse("events.yaml", []byte(text)); c != nil {
			requireGood(t, c)
		}
	})
}

// The same for catalogues that are made, and not found by changing bytes.
func FuzzGenerateFromMadeCatalogues(f *testing.F) {
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
	text := madeCatalogue(t)
	c, _ := catalog.Parse("events.yaml", []byte(text))
	if c != nil {
		requireGood(t, c)
	}
	return c != nil
}

// tb is what *testing.T and *rapid.T have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// requireGood checks the code of a catalogue.
func requireGood(t tb, c *catalog.Catalogue) {
	t.Helper()
	files, err := Files(c, here)
	if err != nil {
		t.Fatalf("%v", err)
	}
	again, err := Files(c, here)
	if diff := cmp.Diff(files, again); err != nil || diff != "" {
		t.Fatalf("the second time it is something else: %v\n%s", err, diff)
	}
	for _, e := range c.Events {
		if err := c.CheckPayload(e.Name.V, e.Version.V, e.Sample()); err != nil {
			t.Fatalf("the sample of %s is not valid: %v\n%s", e.Name.V, err, e.Sample())
		}
	}
	upcasts, err := withUpcasts(c)
	if err != nil {
		t.Fatalf("%v", err)
	}
	files = append(files, emit.File{Name: "upcasts.go", Content: []byte(upcasts)})
	importPath, err := here.importPath(c)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := typeCheck(importPath, files); err != nil {
		t.Fatalf("%v", err)
	}
}

// typeCheck returns an error if a package, or its test kit, does not compile or is
// not formatted.
func typeCheck(importPath string, files []emit.File) error {
	compiled, err := compiledPackages()
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	generated := &oneMore{path: importPath}
	generated.ImporterFrom = importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		file, ok := compiled[path]
		if !ok {
			return nil, fmt.Errorf("nobody has compiled %s", path)
		}
		return os.Open(file)
	}).(types.ImporterFrom)
	for _, below := range []bool{false, true} {
		some := slices.DeleteFunc(slices.Clone(files), func(f emit.File) bool { return strings.Contains(f.Name, "/") != below })
		pkg, err := typeCheckPackage(set, generated, some)
		if err != nil {
			return err
		}
		generated.pkg = pkg
	}
	return nil
}

// oneMore is an importer that has a package more.
type oneMore struct {
	types.ImporterFrom
	path string
	pkg  *types.Package
}

func (o *oneMore) Import(path string) (*types.Package, error) { return o.ImportFrom(path, "", 0) }

func (o *oneMore) ImportFrom(path, dir string, mode types.ImportMode) (*types.Package, error) {
	if path == o.path && o.pkg != nil {
		return o.pkg, nil
	}
	return o.ImporterFrom.ImportFrom(path, dir, mode)
}

func typeCheckPackage(set *token.FileSet, from types.Importer, files []emit.File) (*types.Package, error) {
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
	pkg, err := config.Check("generated", set, parsed, nil)
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

// compiledPackages says where the compiled form of each package is that generated
// code may import, and of a few that stand for those of custom types.
var compiledPackages = sync.OnceValues(func() (map[string]string, error) {
	out, err := exec.Command("go", "list", "-deps", "-export", "-f", "{{if .Export}}{{.ImportPath}}={{.Export}}{{end}}",
		runtimePath, deepPath, kitPath, "testing", "maps", "regexp", "slices", "net/netip", "math/big", "net/url").Output()
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

// A catalogueMaker makes catalogues that are likely to be free of findings, from
// names and texts that are likely to make trouble.
type catalogueMaker struct {
	t     *rapid.T
	types []string
	depth int // of the fields that are being made
	// subscriptions counts those that were made, because each needs a name of its own.
	subscriptions int
}

func madeCatalogue(t *rapid.T) string {
	m := &catalogueMaker{t: t}
	for i := range m.upTo(5) {
		m.types = append(m.types, m.one("type", typeNames)+strings.Repeat("X", i))
	}
	typeSection, events := object{}, object{}
	for _, name := range m.types {
		typeSection.set(name, m.typeBody())
	}
	for range 1 + m.upTo(3) {
		events.set(m.one("event", eventNames), m.event())
	}
	root := object{}.set("version", 1).set("package", m.one("package", packageNames))
	if m.seldom() {
		root.set("test_kit", true)
	}
	return root.set("types", typeSection).set("events", events).String()
}

// object is a mapping in YAML, which takes JSON.
type object map[string]any

func (o object) set(key string, value any) object {
	o[key] = value
	return o
}

func (o object) String() string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(text)
}

var (
	packageNames = []string{"events", "testing", "runtimetest", "t", "T", "kit", "events_", "événements", "catalogue"}
	typeNames    = []string{"T", "Type", "String", "Error", "Problems", "JSON", "Context", "Time", "Event", "Payment"}
	eventNames   = []string{"a", "order.placed", "order.line.added", "func.type", "init", "len.cap", "x.y"}
	fieldNames   = []string{"id", "type", "p", "v", "w", "r", "d", "json", "time", "value", "other", "a_b", "n1", "wire", "deep"}
	valueNames   = []string{"a", "b", "D", "1", "日本", "a-b", "`", "\"x", "x y", "*/x", "nil"}
	texts        = []string{"", "Plain.", "*/ }", "`", "//go:build x", "a\n\nb", "\u202e", "Deprecated: no", "\t code", "%s ${x}", "x\u2028y"}
	scalars      = []string{"string", "bool", "int", "int32", "int64", "uint64", "float64", "bytes", "time", "date", "duration", "uuid", "decimal", "json"}
)

func (m *catalogueMaker) one(label string, from []string) string {
	return rapid.SampledFrom(from).Draw(m.t, label)
}

func (m *catalogueMaker) upTo(n int) int { return rapid.IntRange(0, n).Draw(m.t, "n") }

func (m *catalogueMaker) seldom() bool { return m.upTo(3) == 0 }

// noted adds what can be said of anything.
func (m *catalogueMaker) noted(o object) object {
	if m.seldom() {
		o.set("doc", m.one("doc", texts))
	}
	if m.seldom() {
		o.set("deprecated", m.one("reason", texts[1:]))
	}
	return o
}

func (m *catalogueMaker) typeBody() object {
	o := m.noted(object{})
	switch m.upTo(5) {
	case 0:
		return o.set("enum", rapid.SliceOfNDistinct(rapid.SampledFrom(valueNames), 1, 4, rapid.ID).Draw(m.t, "values"))
	case 1:
		values := object{}
		for i := range 1 + m.upTo(3) {
			values.set(m.one("value", valueNames), m.noted(object{"number": i - 1}))
		}
		return o.set("enum", values)
	case 2:
		variants := object{}
		for range 1 + m.upTo(3) {
			if len(m.types) > 0 && m.upTo(1) == 0 {
				variants.set(m.one("variant", []string{"a", "b", "C", "d-e"}), m.one("type", m.types))
			} else {
				variants.set(m.one("variant", []string{"a", "b", "C", "d-e"}), object{"fields": m.fields()})
			}
		}
		return o.set("one_of", variants).set("discriminator", m.one("discriminator", []string{"kind", "of"}))
	case 3:
		custom := m.one("custom", []string{"net/netip Addr", "math/big Int", "net/url URL"})
		path, name, _ := strings.Cut(custom, " ")
		return o.set("go", object{"import": path, "type": name}).set("type", m.one("wire", []string{"string", "json"}))
	}
	return o.set("fields", m.fields())
}

func (m *catalogueMaker) event() object {
	o := m.noted(object{}).set("payload", m.fields())
	if m.seldom() {
		o.set("owner", "somebody").set("tags", []string{"a", "b"})
	}
	if m.seldom() {
		m.subscriptions++
		o.set("subscriptions", object{fmt.Sprint("send-receipt-", m.subscriptions): object{"aliases": []string{fmt.Sprint("alias-", m.subscriptions)}}})
	}
	if m.seldom() {
		m.history(o)
	}
	return o
}

// history gives an event up to three versions before, of which the first may be dropped.
func (m *catalogueMaker) history(o object) {
	versions := 1 + m.upTo(2)
	old := object{}
	for n := 1; n <= versions; n++ {
		old.set(fmt.Sprint(n), m.noted(object{"payload": m.fields()}))
	}
	for _, shape := range old {
		delete(shape.(object), "deprecated")
	}
	if m.seldom() {
		old.set("1", "dropped")
	}
	o.set("version", versions+1).set("history", old)
	if m.seldom() {
		m.subscriptions++
		o.set("aliases", []string{fmt.Sprint("former.name_", m.subscriptions)})
	}
}

func (m *catalogueMaker) fields() object {
	m.depth++
	defer func() { m.depth-- }()
	fields := object{}
	for range m.upTo(4) {
		fields.set(m.one("field", fieldNames), m.field())
	}
	return fields
}

func (m *catalogueMaker) field() any {
	bare := m.fieldType()
	if m.upTo(2) > 0 {
		return bare
	}
	o := m.noted(object{})
	if m.depth < 3 && m.seldom() {
		o.set("fields", m.fields())
		bare = m.one("shape", []string{"{}", "[]{}", "map[string]{}", "{}?", "[]{}?"})
	}
	o.set("type", bare)
	return m.constrained(o, bare)
}

func (m *catalogueMaker) fieldType() string {
	of := m.one("scalar", scalars)
	if len(m.types) > 0 && m.upTo(2) == 0 {
		of = m.one("type", m.types)
	}
	for range m.upTo(2) {
		of = m.one("shape", []string{"", "[]", "map[string]"}) + of
	}
	return of + m.one("optional", []string{"", "", "?"})
}

// constrained adds constraints and a default that suit the type, more or less.
func (m *catalogueMaker) constrained(o object, of string) object {
	bare, optional := strings.CutSuffix(of, "?")
	switch {
	case strings.HasPrefix(bare, "[]"), strings.HasPrefix(bare, "map"):
		o.set("min_items", m.upTo(2)).set("max_items", 2+m.upTo(1))
		if m.seldom() && strings.HasPrefix(bare, "[]") {
			o.set("unique", true)
		}
	case bare == "string":
		switch m.upTo(3) {
		case 0:
			o.set("pattern", m.one("pattern", []string{"^a+$", "`", `^[\d"\\]{2,3}$`, "x|y", "(?i)\u202e", "^$"}))
		case 1:
			o.set("format", m.one("format", catalog.Formats()))
		case 2:
			o.set("min_length", m.upTo(3)).set("max_length", 3+m.upTo(300))
		case 3:
			if optional {
				o.set("default", m.one("default", texts))
			}
		}
	case bare == "int", bare == "int32", bare == "int64", bare == "uint64", bare == "float64":
		o.set("min", m.upTo(5)).set("max", 5+m.upTo(1000))
		if optional {
			o.set("default", 5)
		}
	case bare == "decimal":
		o.set("min", "0.50").set("max", json.Number("1000.5"))
	case bare == "duration":
		o.set("min", "-1h").set("max", "7d")
	}
	return o
}
