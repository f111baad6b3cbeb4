// Package gotypes shows that types of other modules can stand in for those of built-in types: go_types of a catalogue.
// It is a module of its own, because busgen needs none of these modules.
package gotypes

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "github.com/gofrs/uuid/v5"
	"github.com/google/go-cmp/cmp"
	_ "github.com/shopspring/decimal"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/export"
	"github.com/busgen/busgen/internal/payload/schema"
	"github.com/busgen/busgen/internal/record"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/templates"
)

var update = flag.Bool("update", false, "rewrite the golden file in testdata")

func TestAnEventIsPublishedHandledAfterACrashAndReadWithoutGoTypes(t *testing.T) {
	module := newProgram(t)
	path := filepath.Join(t.TempDir(), "shop.db")

	published := module.program("publish", path)
	if *update {
		module.write("testdata/published.golden", published)
	}
	if diff := cmp.Diff(read(t, "testdata/published.golden"), published); diff != "" {
		t.Error(diff)
	}
	module.program("crash", path)
	const handled = "paid true 123456789012345678901234567890.5\n" +
		"placed true true true 25 018f4f2e-0000-7000-8000-000000000001 1.5 Thursday\n"
	lines := strings.SplitAfter(module.program("handle", path), "\n")
	if strings.HasPrefix(lines[0], "placed") { // the two subscriptions do not wait for each other
		lines[0], lines[1] = lines[1], lines[0]
	}
	if diff := cmp.Diff(handled, strings.Join(lines, "")); diff != "" {
		t.Error(diff)
	}
	module.program("plain", path)

	inspector, err := inspect.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer inspector.Close()
	letters, _, err := inspector.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	if err != nil || len(letters) != 2 {
		t.Fatal(err, letters)
	}
	const id = `"018f4f2e-0000-7000-8000-000000000001"`
	stored := map[string]string{
		"order.placed": `{"id":` + id + `,"order_id":` + id + `,"total":"12.5","amounts":["-1","0.001"],"by_name":{"a":["1000"]},"day":"2024-02-29",` +
			`"wait":"1m30s","none":null,"lines":[{"amount":"7","of":"3"},{"amount":"8","of":null}]}`,
		"order.paid": `{"id":` + id + `,"means":{"type":"card","limit":"99.99","until":"2030-12-31","prices":{"a":"0.1"}},"total":"123456789012345678901234567890.5"}`,
	}
	for _, l := range letters {
		if diff := cmp.Diff(stored[l.Type], string(l.Payload)); diff != "" {
			t.Errorf("%s is not stored as it should be:\n%s", l.Type, diff)
		}
		if diff := cmp.Diff(string(l.Payload), l.LastAttempt().Error); diff != "" {
			t.Errorf("%s would be stored in another way without go_types:\n%s", l.Type, diff)
		}
	}
}

func TestWhatAGoTypeDoesNotReadBecomesADeadLetter(t *testing.T) {
	module := newProgram(t)
	path := filepath.Join(t.TempDir(), "shop.db")
	module.program("foreign", path)
	if got := module.program("unread", path); got != "2024 12.5\n" {
		t.Error(got)
	}
	inspector, err := inspect.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer inspector.Close()
	letters, _, err := inspector.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	if err != nil || len(letters) != 2 {
		t.Fatal(err, letters)
	}
	for i, want := range []string{"the books of 1997 are closed", "not in an Olympic year"} { // the newest first
		if l := letters[i]; l.Reason != "decode" || !strings.Contains(l.LastAttempt().Error, want) || !strings.Contains(string(l.Payload), `"total":"12.50"`) {
			t.Errorf("%s: %q of %s; want %q", l.Reason, l.LastAttempt().Error, l.Payload, want)
		}
	}
}

func TestWhatIsKnownOfStoredEventsIsTheSameWithoutGoTypes(t *testing.T) {
	text := read(t, "testdata/events.yaml")
	plain := withoutGoTypes(t, text)
	if diff := cmp.Diff(known(t, plain), known(t, text)); diff != "" {
		t.Errorf("go_types change schemas or the record (-without +with):\n%s", diff)
	}
	for before, after := range map[string]string{text: plain, plain: text} {
		findings, err := breaking.Compare(state(t, before), state(t, after))
		if err != nil || len(findings) > 0 {
			t.Error(err, findings)
		}
	}
}

func state(t *testing.T, text string) breaking.State {
	t.Helper()
	return breaking.State{Catalogue: parsed(t, text), Read: func(string) ([]byte, error) { return []byte(text), nil }}
}

func parsed(t *testing.T, text string) *catalog.Catalogue {
	t.Helper()
	c, findings := parse.Text("events.yaml", []byte(text))
	if findings != nil {
		t.Fatal(findings)
	}
	return c
}

func TestTheExampleOfTheReferenceCompiles(t *testing.T) {
	reference := read(t, "../../../docs/payloads.md")
	example := regexp.MustCompile("(?s)```yaml team\\.yaml\n(.*?)```").FindStringSubmatch(reference)
	if example == nil {
		t.Fatal("the reference has no example called team.yaml")
	}
	module := newModule(t)
	module.generate("events", example[1])
	module.run("vet", "./...")
}

// known is what busgen makes of a catalogue for others than Go.
func known(t *testing.T, text string) string {
	t.Helper()
	c := parsed(t, text)
	asyncAPI, err := export.AsyncAPI(c, export.Info{Title: "shop", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := export.JSONSchema(c)
	if err != nil {
		t.Fatal(err)
	}
	all := string(asyncAPI) + string(schemas)
	for _, fact := range record.FactsOf(c) {
		all += fmt.Sprintf("%+v\n", fact)
	}
	for _, e := range c.Events {
		all += e.Shape() + schema.Of(e) + "\n"
	}
	return all
}

func withoutGoTypes(t *testing.T, text string) string {
	t.Helper()
	plain := regexp.MustCompile(`(?m)^go_types:\n(  .*\n)+`).ReplaceAllString(text, "")
	if plain == text {
		t.Fatal("there are no go_types")
	}
	return plain
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A module is a folder with generated code. It can use what this module can.
type module struct {
	t      *testing.T
	folder string
}

func newModule(t *testing.T) module {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	m := module{t, t.TempDir()}
	for _, name := range []string{"go.mod", "go.sum"} {
		m.add(name, read(t, name))
	}
	m.run("mod", "edit", "-module=example.com/cases", "-replace=github.com/busgen/busgen="+root)
	return m
}

// newProgram returns a module with the program of testdata, built.
func newProgram(t *testing.T) module {
	t.Helper()
	text := read(t, "testdata/events.yaml")
	m := newModule(t)
	m.generate("events", text)
	m.generate("plain", strings.Replace(withoutGoTypes(t, text), "package: events", "package: plain", 1))
	m.add("team/team.go", read(t, "testdata/team.go"))
	m.add("main.go", read(t, "testdata/main.go"))
	m.run("vet", "./...")
	m.run("build", "-o", "program", ".")
	return m
}

func (m module) add(path, content string) {
	m.t.Helper()
	path = filepath.Join(m.folder, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		m.t.Fatal(err)
	}
	m.write(path, content)
}

func (m module) write(path, content string) {
	m.t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		m.t.Fatal(err)
	}
}

func (m module) generate(folder, text string) {
	m.t.Helper()
	files, err := templates.Files(parsed(m.t, text), templates.Target{ImportPath: "example.com/cases/" + folder})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, file := range files {
		m.add(folder+"/"+file.Name, string(file.Content))
	}
}

func (m module) run(args ...string) { m.t.Helper(); m.command("go", args...) }

func (m module) program(args ...string) string {
	m.t.Helper()
	return m.command(filepath.Join(m.folder, "program"), args...)
}

func (m module) command(name string, args ...string) string {
	m.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(m.t.Context(), name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.folder, &out, &errs
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if err := cmd.Run(); err != nil {
		m.t.Fatalf("%s %v: %v\n%s%s", filepath.Base(name), args, err, out.String(), errs.String())
	}
	return out.String()
}
