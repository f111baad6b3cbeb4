package compiletest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/short"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/catalogtest"
	"github.com/busgen/busgen/templates"
)

// Every catalogue that is free of findings, of the cases, of the reference of the language and of
// the documents that were imported, makes a package. All of them are compiled and vetted in one go, as a
// module of their own, with a program that sends their samples through JSON and back, and
// writes what it reads of the payloads in wire.golden. With -short it is every tenth.
func TestTheCodeOfAllValidCataloguesCompilesAndItsSamplesGoThroughJSON(t *testing.T) {
	short.Visit(t, "it compiles programs")
	module := newModule(t)
	var packages, checks []string
	for name, c := range validCatalogues(t) {
		c.TestKit = true // which has the samples
		addPackage(t, module, name, c)
		kit := name + "/" + strings.TrimRight(strings.Map(asciiOnly, c.Package.V), "_") + "test" // as templates have it
		if len(c.Events) > 0 {
			packages = append(packages, kit)
		}
		imported := map[string]bool{}
		for _, e := range c.Events {
			path, sample := name, "Sample"+e.GoName
			if e.Home != nil {
				path += "/" + e.Home.Name.V
				sample += "Of" + strings.ToUpper(e.Home.Name.V[:1]) + e.Home.Name.V[1:]
			}
			checks = append(checks, fmt.Sprintf("check(%q, %s.%s)", name+" "+e.Name.V, alias(kit), sample))
			more := wireChecks(alias(path), e)
			if checks = append(checks, more...); len(more) > 0 && !imported[path] {
				imported[path] = true
				packages = append(packages, path)
			}
		}
	}
	module.add("main.go", samplesProgram(packages, checks))

	module.run("vet", "./...")
	if got, want := module.run("run", "."), fmt.Sprintf("%d samples\n", len(checks)); got != want {
		t.Errorf("the program says\n%swant\n%s", got, want)
	}
}

// wireChecks are calls for the payloads of an event, and of its versions before.
func wireChecks(name string, e *catalog.Event) (checks []string) {
	for n := 1; n <= e.Version.V; n++ {
		goName := e.GoName
		for _, old := range e.History {
			if old.Version.V == n {
				goName = old.Type.GoName
			}
		}
		fields, _ := e.FieldsOf(n)
		for _, form := range catalogtest.WireForms(e, n) {
			if !hasCustom(fields, map[*catalog.Type]bool{}) { // what such a type reads is its own affair
				checks = append(checks, fmt.Sprintf("wireForm[%s.%s](%q, %q)", name, goName, name+" "+e.Name.V, form))
			}
		}
	}
	return checks
}

// hasCustom tells whether a custom Go type is somewhere in fields.
func hasCustom(fields []*catalog.Field, seen map[*catalog.Type]bool) bool {
	for _, f := range fields {
		t := f.Type
		for t.Elem != nil {
			t = t.Elem
		}
		if t.Named == nil || seen[t.Named] {
			continue
		}
		seen[t.Named] = true
		inside := slices.Clone(t.Named.Fields)
		for _, v := range t.Named.Variants {
			inside = append(inside, v.Type.Fields...)
		}
		if t.Named.IsCustom() || hasCustom(inside, seen) {
			return true
		}
	}
	return false
}

// asciiOnly drops what a folder of a test kit does not have in its name.
func asciiOnly(r rune) rune {
	if r >= utf8.RuneSelf {
		return -1
	}
	return r
}

func alias(path string) string { return strings.ReplaceAll(path, "/", "_") }

// addPackage adds the code of a catalogue to the module, and below it that of those which it imports.
func addPackage(t *testing.T, m module, name string, c *catalog.Catalogue) {
	t.Helper()
	for _, p := range c.Imports {
		if p.Above != nil {
			continue // it is generated with that
		}
		p.Path = "example.com/cases/" + name + "/" + p.Name.V
		other, findings := parse.TextWith(referenced(t), p.File, textOf(t, p.File))
		if findings != nil {
			t.Fatal(findings)
		}
		addPackage(t, m, name+"/"+p.Name.V, other)
	}
	addFiles(t, m, name, c)
}

// addFiles adds the code of a catalogue to the module.
func addFiles(t *testing.T, m module, name string, c *catalog.Catalogue) {
	t.Helper()
	c.ImportPath = catalog.Value[string]{} // it lies elsewhere here
	importPath := "example.com/cases/" + name
	files, err := templates.Files(c, templates.Target{ImportPath: importPath})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		m.add(name+"/"+file.Name, string(file.Content))
	}
	m.add(name+"/upcasts.go", upcasts(t, c.In(nil, importPath)))
	for _, p := range c.Packages {
		m.add(name+"/"+p.Name.V+"/upcasts.go", upcasts(t, c.In(p, importPath)))
	}
}

// textOf reads a file that is on the disk or in the reference of the language.
func textOf(t *testing.T, name string) []byte {
	t.Helper()
	text, err := referenced(t).ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// referenced are the files that catalogues can include and import.
func referenced(t *testing.T) parse.Memory {
	t.Helper()
	files := parse.Memory{Text: map[string][]byte{}, Below: parse.Disk{}}
	reference := reference(t)
	for _, block := range regexp.MustCompile("(?s)```yaml (\\S+\\.yaml)\n(.*?)```").FindAllStringSubmatch(reference, -1) {
		files.Text[block[1]] = []byte(block[2])
	}
	return files
}

// reference are the pages on the language.
func reference(t *testing.T) string {
	t.Helper()
	return string(read(t, "../../docs/catalogue.md")) + string(read(t, "../../docs/payloads.md"))
}

// upcasts is what the user of a catalogue writes.
func upcasts(t *testing.T, c *catalog.Catalogue) string {
	t.Helper()
	text := "package " + c.Package.V + "\n"
	for _, e := range c.Events {
		for _, old := range e.History {
			one, err := templates.Upcast(e, old.Version.V)
			if err != nil {
				t.Fatal(err)
			}
			text += "\n" + one
		}
	}
	return text
}

// A source is the text of a catalogue without findings.
type source struct {
	name  string
	file  string
	text  []byte
	files parse.Files // that it may include and import
}

// validSources lists the catalogues of the cases and of the reference of the language.
func validSources(t *testing.T) (all []source) {
	t.Helper()
	paths, err := filepath.Glob("../catalog/parse/testdata/cases/valid_*/events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		all = append(all, source{filepath.Base(filepath.Dir(path)), path, read(t, path), parse.Disk{}})
	}
	reference := reference(t)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(reference, -1)
	for i, block := range blocks {
		all = append(all, source{fmt.Sprintf("reference%d", i), "events.yaml", []byte(block[1]), referenced(t)})
	}
	imported, err := filepath.Glob("../importer/testdata/cases/*/events.yaml.golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range imported {
		if text := read(t, path); len(text) < 10_000 {
			all = append(all, source{filepath.Base(filepath.Dir(path)), path, text, parse.Disk{}})
		}
	}
	if len(paths) < 15 || len(blocks) < 10 || len(imported) < 10 {
		t.Fatalf("found %d valid cases, %d catalogues in the reference and %d that were imported", len(paths), len(blocks), len(imported))
	}
	return all
}

// validCatalogues returns the catalogues without findings, by a name for each.
func validCatalogues(t *testing.T) map[string]*catalog.Catalogue {
	t.Helper()
	all := madeCatalogues()
	for i, s := range validSources(t) {
		if testing.Short() && i%10 != 0 {
			continue
		}
		c, findings := parse.TextWith(s.files, s.file, s.text)
		if len(findings) > 0 {
			t.Fatal(s.name, findings)
		}
		all[s.name] = c
	}
	return all
}

// madeCatalogues returns a few of those that fuzzing makes, the same every time, if they
// have no custom Go types, of which no samples can be made up.
func madeCatalogues() map[string]*catalog.Catalogue {
	all := map[string]*catalog.Catalogue{}
	for seed := 0; len(all) < 12; seed++ {
		c, _ := parse.Text("events.yaml", []byte(rapid.Custom(catalogtest.Made).Example(seed)))
		if c == nil || slices.ContainsFunc(c.Types, (*catalog.Type).IsCustom) {
			continue
		}
		all[fmt.Sprint("made", seed)] = c
	}
	return all
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// samplesProgram prints what is wrong with the samples of packages.
func samplesProgram(packages, checks []string) string {
	var imports strings.Builder
	for _, name := range packages {
		fmt.Fprintf(&imports, "\t%s %q\n", alias(name), "example.com/cases/"+name)
	}
	return `package main

import (
	"encoding/json"
	"fmt"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/gen/wire"

` + imports.String() + `)

var checked int

func check[T runtime.Payload](name string, sample func() T) {
	checked++
	value := sample()
	if err := value.Validate(); err != nil {
		fmt.Println(name, "is not valid:", err)
	}
	slow, err := json.Marshal(value)
	if err != nil {
		fmt.Println(name, "cannot be written:", err)
		return
	}
	codec := wire.NewCodec[T]()
	quick, err := codec.Encode(value)
	if err != nil || string(quick) != string(slow) {
		fmt.Printf("%s is written as\n%s, %v\nand by encoding/json as\n%s\n", name, quick, err, slow)
	}
	back, err := codec.Decode(quick)
	if err != nil || !runtime.Equal(back, value) || !runtime.Equal(runtime.Clone(back), value) {
		fmt.Printf("%s is not the same after JSON: %v\n%+v\n%+v\n", name, err, value, back)
	}
	var again T
	if err := json.Unmarshal(slow, &again); err != nil || !runtime.Equal(again, value) {
		fmt.Printf("%s is not the same after encoding/json: %v\n%+v\n%+v\n", name, err, value, again)
	}
}

func wireForm[T any](name, form string) {
	checked++
	codec := wire.NewCodec[T]()
	value, err := codec.Decode([]byte(form))
	if err != nil {
		fmt.Println(name, form, "cannot be read:", err)
		return
	}
	if back, err := codec.Encode(value); err != nil || string(back) != form {
		fmt.Printf("%s %s\nis written as\n%s, %v\n", name, form, back, err)
	}
}

func main() {
	` + strings.Join(checks, "\n\t") + `
	fmt.Println(checked, "samples")
}
`
}

// A module is a folder that the go command takes for one that depends on busgen.
type module struct {
	t      *testing.T
	folder string
}

func newModule(t *testing.T) module {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	m := module{t, t.TempDir()}
	for _, name := range []string{"go.mod", "go.sum"} {
		m.add(name, string(read(t, filepath.Join(root, name))))
	}
	m.run("mod", "edit", "-module=example.com/cases", "-droptool=github.com/busgen/busgen/cmd/busgen",
		"-require=github.com/busgen/busgen@v0.0.0", "-replace=github.com/busgen/busgen="+root)
	return m
}

func (m module) add(path, content string) {
	m.t.Helper()
	path = filepath.Join(m.folder, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		m.t.Fatal(err)
	}
	write(m.t, path, content)
}

// run calls the go command in the module, without the network. What it compiles does not depend on the
// folder of the module, so that the next run finds it compiled, and leaves no second copy on the disk.
func (m module) run(args ...string) (stdout string) {
	m.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.folder, &out, &errs
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOPROXY=off", "GOWORK=off")
	if err := cmd.Run(); err != nil {
		m.t.Fatalf("go %v: %v\n%s%s", args, err, out.String(), errs.String())
	}
	return out.String()
}
