package compiletest

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/catalogtest"
	"github.com/busgen/busgen/internal/short"
)

var crossedOnly = flag.String("crossed", "", "the catalogue that is crossed with custom types, instead of all")

// Every catalogue that is free of findings is crossed with custom Go types: in each of its structs and
// variants there are some in every place, and its own types are in every place too. Their JSON is that of
// encoding/json for a value in which everything has an address, byte for byte, and is read as what it was.
func TestAllValidCataloguesWithCustomTypesHaveTheJSONOfEncodingJSON(t *testing.T) {
	short.Skip(t, "hundreds of packages are compiled")
	module := newModule(t)
	for _, name := range []string{"custom.go", "check.go"} {
		to := map[string]string{"custom.go": "custom/custom.go", "check.go": "check.go"}[name]
		module.add(to, string(read(t, "testdata/crossed/"+name)))
	}
	p := program{imports: map[string]bool{}}
	events := 0
	for _, source := range append(validSources(t), madeSources()...) {
		if *crossedOnly != "" && source.name != *crossedOnly {
			continue
		}
		files := newCrossing(t, source.files)
		c, findings := parse.TextWith(files, source.file, files.cross(source.file, source.text))
		if findings != nil {
			t.Fatalf("%s: %v", source.name, findings)
		}
		addCrossed(t, module, files, source.name, c, &p)
		events += len(c.Events)
	}
	module.add("main.go", p.text())
	if got := module.run("run", "-gcflags=example.com/cases/...=-N -l", "."); got != fmt.Sprintf("%d values\n", p.checks*40) {
		t.Errorf("of %d payloads of %d events, the program says\n%s", p.checks, events, got)
	}
}

// madeSources lists a few of the catalogues that fuzzing makes, the same every time.
func madeSources() (all []source) {
	for seed := 0; len(all) < 12; seed++ {
		text := []byte(rapid.Custom(catalogtest.Made).Example(seed))
		if _, findings := parse.Text("events.yaml", text); findings == nil {
			all = append(all, source{fmt.Sprint("made", seed), "events.yaml", text, parse.Memory{}})
		}
	}
	return all
}

// A program calls what testdata/crossed/check.go has for the packages of catalogues.
type program struct {
	imports map[string]bool
	calls   []string
	checks  int
}

func (p *program) call(format string, args ...any) {
	p.calls = append(p.calls, fmt.Sprintf(format, args...))
}

func (p *program) text() string {
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n\t\"fmt\"\n\n")
	for _, path := range slices.Sorted(maps.Keys(p.imports)) {
		fmt.Fprintf(&b, "\t%s %q\n", alias(path), "example.com/cases/"+path)
	}
	b.WriteString(")\n\nfunc main() {\n\t" + strings.Join(p.calls, "\n\t") + "\n\tfmt.Println(checked, \"values\")\n}\n")
	return b.String()
}

// addCrossed adds the code of a catalogue, and of those that it imports, with calls that check its payloads.
func addCrossed(t *testing.T, m module, files parse.Files, name string, c *catalog.Catalogue, p *program) {
	t.Helper()
	for _, imported := range c.Imports {
		if imported.Above != nil {
			continue // it is generated with that
		}
		text, err := files.ReadFile(imported.File)
		if err != nil {
			t.Fatal(err)
		}
		other, findings := parse.TextWith(files, imported.File, text)
		if findings != nil {
			t.Fatal(findings)
		}
		imported.Path = "example.com/cases/" + name + "/" + imported.Name.V
		addCrossed(t, m, files, name+"/"+imported.Name.V, other, p)
	}
	c.ImportPath = catalog.Value[string]{}
	addFiles(t, m, name, c)
	in := func(home *catalog.Package, goName string) string {
		path := name
		if home != nil {
			path += "/" + home.Name.V
		}
		p.imports[path] = true
		return alias(path) + "." + goName
	}
	for _, union := range c.Types {
		for _, v := range union.Variants {
			p.call("addVariant[%s, %s](%q, %q)", in(union.Home, union.GoName), in(v.Type.Home, v.Type.GoName), union.Discriminator.V, v.Name.V)
		}
	}
	for _, e := range c.Events {
		goNames := []string{e.GoName}
		for _, old := range e.History {
			if old.Type != nil {
				goNames = append(goNames, old.Type.GoName)
			}
		}
		for _, goName := range goNames {
			p.call("check[%s](%q)", in(e.Home, goName), name+" "+goName)
			p.checks++
		}
	}
}
