package catalog_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/templates"
)

func TestTheReferenceShowsTheGoTypesThatAreGenerated(t *testing.T) {
	rows := table(t, "Type", "Go", "Optional, in Go")
	var source strings.Builder
	source.WriteString("version: 1\npackage: events\ntypes: { Currency: { enum: [EUR] }, Money: { fields: {} } }\nevents:\n  e:\n    payload:\n")
	for i, row := range rows {
		fmt.Fprintf(&source, "      f%d: %q\n      o%d: %q\n", i, code(row[0])[0], i, code(row[0])[0]+"?")
	}
	structs := regexp.MustCompile(`\s+`).ReplaceAllString(generate(t, source.String())["payloads.gen.go"], " ")
	for i, row := range rows {
		for _, want := range []string{
			fmt.Sprintf("F%d %s `json", i, code(row[1])[0]),
			fmt.Sprintf("O%d %s `json", i, code(row[2])[0]),
		} {
			if !strings.Contains(structs, want) {
				t.Errorf("row %s: the payload has no %q", row[0], want)
			}
		}
	}
}

func TestTheReferenceShowsTheJSONThatTravels(t *testing.T) {
	goTypes := map[string]any{
		"string": "", "bool": false, "int": 0, "int32": int32(0), "int64": int64(0), "uint64": uint64(0), "float64": 0.0,
		"[]byte": []byte{}, "time.Time": time.Time{}, "runtime.Date": runtime.Date{}, "runtime.Duration": runtime.Duration(0),
		"uuid.UUID": uuid.UUID{}, "json.RawMessage": json.RawMessage{}, "[]string": []string{}, "map[string]int": map[string]int{},
		"Currency": "", "Money": struct {
			Amount   int64  `json:"amount"`
			Currency string `json:"currency"`
		}{},
	}
	for _, row := range table(t, "Type", "Go", "Optional, in Go") {
		name, text := code(row[1])[0], code(row[3])[0]
		zero, known := goTypes[name]
		if !known {
			t.Errorf("this test does not know the Go type %s", name)
			continue
		}
		value := reflect.New(reflect.TypeOf(zero))
		if err := json.Unmarshal([]byte(text), value.Interface()); err != nil {
			t.Errorf("%s cannot be read as %s: %v", text, name, err)
			continue
		}
		if back, err := json.Marshal(value.Interface()); string(back) != text || err != nil {
			t.Errorf("%s as %s is written as %s, %v", text, name, back, err)
		}
	}
}

func TestTheReferenceShowsWhereInheritedSettingsComeFrom(t *testing.T) {
	var event *catalog.Event
	for _, b := range blocksOf(t, "yaml") {
		if strings.Contains(b.text, "ml.run.started:") {
			event = parse(t, b.text).Events[0]
		}
	}
	ofEvent, ofSubscription := origins(event.Settings), origins(event.Subscriptions[0].Settings)
	if diff := cmp.Diff(ofEvent, originsIn(table(t, "Setting", "Value", "From"))); diff != "" {
		t.Errorf("the table of the event differs (-catalogue +table):\n%s", diff)
	}
	own := slices.DeleteFunc(ofSubscription, func(row string) bool { return slices.Contains(ofEvent, row) })
	if diff := cmp.Diff(own, originsIn(table(t, "Setting of `watch-run`", "Value", "From"))); diff != "" {
		t.Errorf("the table of the subscription differs (-catalogue +table):\n%s", diff)
	}
}

// origins lists settings with their values and the lines they come from.
func origins(s catalog.Settings) []string {
	priorities := map[catalog.Priority]string{catalog.Low: "low", catalog.Normal: "normal", catalog.High: "high"}
	row := func(name, value string, pos catalog.Position) string {
		if pos == (catalog.Position{}) {
			return name + " " + value + ", built in"
		}
		return fmt.Sprintf("%s %s, line %d", name, value, pos.Line)
	}
	return []string{
		row("max_attempts", fmt.Sprint(s.MaxAttempts.V), s.MaxAttempts.Pos),
		row("backoff", s.Backoff.V.String(), s.Backoff.Pos),
		row("base_delay", short(s.BaseDelay.V), s.BaseDelay.Pos),
		row("max_delay", short(s.MaxDelay.V), s.MaxDelay.Pos),
		row("multiplier", fmt.Sprint(s.Multiplier.V), s.Multiplier.Pos),
		row("jitter", fmt.Sprint(s.Jitter.V), s.Jitter.Pos),
		row("timeout", short(s.Timeout.V), s.Timeout.Pos),
		row("priority", priorities[s.Priority.V], s.Priority.Pos),
	}
}

// originsIn reads the same from a table.
func originsIn(rows [][]string) []string {
	var all []string
	for _, cells := range rows {
		place := regexp.MustCompile(`line \d+|built in`).FindString(cells[2])
		all = append(all, code(cells[0])[0]+" "+code(cells[1])[0]+", "+place)
	}
	return all
}

func TestTheReferenceShowsTheDefaultsOfSettings(t *testing.T) {
	s := parse(t, "version: 1\npackage: events\nevents: { e: {} }\n").Events[0].Settings
	want := map[string]string{
		"timeout": short(s.Timeout.V), "priority": "normal", "retry: max_attempts": fmt.Sprint(s.MaxAttempts.V),
		"retry: backoff": s.Backoff.V.String(), "retry: base_delay": short(s.BaseDelay.V), "retry: max_delay": short(s.MaxDelay.V),
		"retry: multiplier": fmt.Sprint(s.Multiplier.V), "retry: jitter": fmt.Sprint(s.Jitter.V),
	}
	got := map[string]string{}
	for _, row := range table(t, "Setting", "Value", "If it is set nowhere") {
		if value := code(row[2]); len(value) > 0 {
			got[code(row[0])[0]] = value[0]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table differs (-built in +table):\n%s", diff)
	}
}

func TestTheReferenceShowsTheWaitsOfRetries(t *testing.T) {
	for _, row := range table(t, "`retry`", "2nd") {
		policy := parse(t, "version: 1\npackage: events\nevents: { e: { retry: "+code(row[0])[0]+" } }\n").Events[0].Settings.Policy()
		for i, want := range row[1:] {
			if got := short(policy.Delay(i + 2)); got != want {
				t.Errorf("the wait of %s before execution %d is %s, not %s", row[0], i+2, got, want)
			}
		}
	}
}

func TestTheReferenceShowsWhatPatternsMatch(t *testing.T) {
	for _, row := range table(t, "Pattern", "Stands for") {
		pattern := glob.MustParse(code(row[0])[0])
		for _, name := range code(row[2]) {
			if !pattern.Match(name) {
				t.Errorf("%s does not match %s", pattern, name)
			}
		}
		for _, name := range code(row[3]) {
			if pattern.Match(name) {
				t.Errorf("%s matches %s", pattern, name)
			}
		}
	}
}

func TestTheReferenceShowsGoNames(t *testing.T) {
	for _, row := range table(t, "In the catalogue", "In Go") {
		if name, want := code(row[0])[0], code(row[1])[0]; catalog.GoName(name) != want {
			t.Errorf("%s becomes %s, not %s", name, catalog.GoName(name), want)
		}
	}
}

func TestTheReferenceListsEverythingThatIsGenerated(t *testing.T) {
	want := map[string][]string{}
	for name, source := range generate(t, blocksOf(t, "yaml")[0].text) {
		want[name] = exported(t, source)
	}
	got := map[string][]string{}
	for _, row := range table(t, "For", "In", "Go") {
		file := code(row[1])[0]
		for _, name := range code(row[2]) {
			if token.IsIdentifier(name) && name != "Validate" {
				got[file] = append(got[file], name)
			}
		}
		slices.Sort(got[file])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table differs (-generated +table):\n%s", diff)
	}
}

// generate returns the generated files by name.
func generate(t *testing.T, source string) map[string]string {
	t.Helper()
	files, err := templates.Files(parse(t, source))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]string{}
	for _, f := range files {
		byName[f.Name] = string(f.Content)
	}
	return byName
}

// exported lists the exported names that a file declares in its package.
func exported(t *testing.T, source string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				names = append(names, id.Name)
			}
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name)
				case *ast.ValueSpec:
					add(spec.Names...)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// short writes a duration without zero parts: 1m, where Go says 1m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}
