package parse_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/catalog/parse/settings"
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
		"[]byte": []byte{}, "time.Time": time.Time{}, "runtime.Date": runtime.Date{}, "runtime.Duration": runtime.Duration(0), "runtime.Decimal": runtime.Decimal(""),
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
		if strings.Contains(b.text, "watch-run:") {
			event = parsed(t, b.text).Events[0]
		}
	}
	ofEvent, ofSubscription := origins(event.Settings), origins(event.Subscriptions[0].Settings)
	shown := originsIn(table(t, "Setting", "Value", "From"))
	for _, row := range ofEvent {
		if !slices.Contains(shown, row) && !strings.Contains(row, "built in") {
			t.Errorf("the table of the event lacks %s", row)
		}
	}
	for _, row := range shown {
		if !slices.Contains(ofEvent, row) {
			t.Errorf("the table of the event shows %s", row)
		}
	}
	own := slices.DeleteFunc(ofSubscription, func(row string) bool { return slices.Contains(ofEvent, row) })
	if diff := cmp.Diff(own, originsIn(table(t, "Setting of `watch-run`", "Value", "From"))); diff != "" {
		t.Errorf("the table of the subscription differs (-catalogue +table):\n%s", diff)
	}
}

// origins lists settings with their values and the lines they come from.
func origins(s catalog.Settings) []string {
	var all []string
	for _, setting := range s.List() {
		place := "built in"
		if setting.Pos.Line > 0 {
			place = fmt.Sprint("line ", setting.Pos.Line)
		}
		all = append(all, fmt.Sprintf("%s %v, %s", strings.TrimPrefix(setting.Key, "retry."), setting.Value, place))
	}
	return all
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
	settings := func(yaml string) catalog.Settings {
		return parsed(t, "version: 1\npackage: events\nevents: { e: "+yaml+" }\n").Events[0].Settings
	}
	batch := settings("{}").Batch // which is not listed unless it is written, as strict_order
	want := map[string]string{"redrive": "off", "limits": "off", "strict_order": fmt.Sprint(settings("{}").StrictOrder.V), "batch: size": fmt.Sprint(batch.Size.V), "batch: wait": catalog.Short(batch.Wait.V)}
	for _, setting := range settings("{ redrive: {} }").List() {
		want[strings.Replace(setting.Key, ".", ": ", 1)] = fmt.Sprint(setting.Value)
	}
	got := map[string]string{}
	for _, row := range table(t, "Setting", "Value", "If left out") {
		if value := code(row[2]); len(value) > 0 {
			got[code(row[0])[0]] = value[0]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table differs (-built in +table):\n%s", diff)
	}
}

// Each limit in the table is the last that is taken, and each word is known.
func TestTheReferenceShowsTheLimitsOfSettings(t *testing.T) {
	for _, row := range table(t, "Setting", "Value", "If left out") {
		key, limits := code(row[0])[0], regexp.MustCompile("`?([0-9.]+(?:ms|s|h|d)?)`? to `?([0-9.]+(?:ms|s|h|d)?)`?").FindStringSubmatch(row[1])
		within := func(value string) bool {
			body := key + ": " + value
			if outer, inner, nested := strings.Cut(key, ": "); nested {
				body = outer + ": { " + inner + ": " + value + " }"
			}
			if key == "retry: base_delay" { // which must not be above the other
				body = "retry: { base_delay: " + value + ", max_delay: 30d }"
			}
			if key == "retry: max_delay" {
				body = "retry: { base_delay: 0s, max_delay: " + value + " }"
			}
			c, _ := parse.Text("events.yaml", []byte("version: 1\npackage: events\nevents: { e: { "+body+" } }\n"))
			return c != nil
		}
		if limits != nil {
			for i, limit := range limits[1:] {
				if past := beyond(t, limit, i == 1); !within(limit) || within(past) {
					t.Errorf("%s: the limit is said to be %s; it is taken: %v, and %s is: %v", key, limit, within(limit), past, within(past))
				}
			}
		}
		for _, word := range code(row[1]) {
			if regexp.MustCompile(`^[a-z]+$`).MatchString(word) && word != "permanent" && word != "retry" && !within(word) {
				t.Errorf("%s: %s is not taken", key, word)
			}
		}
	}
}

// The table has every key of a limit, and the last values that are taken.
func TestTheReferenceShowsTheLimitsOfLimits(t *testing.T) {
	taken := func(body string) bool {
		c, _ := parse.Text("events.yaml", []byte("version: 1\npackage: events\nevents: { e: {} }\nlimits: { l: { "+body+" } }\n"))
		return c != nil
	}
	around := map[string]func(string) string{
		"at_once": func(value string) string { return "at_once: " + value },
		"rate": func(value string) string {
			if _, err := strconv.Atoi(value); err == nil {
				return "rate: " + value + " per 1s"
			}
			return "rate: 5 per " + value
		},
	}
	var keys []string
	for _, row := range table(t, "Limit", "Value", "If left out") {
		key := code(row[0])[0]
		keys = append(keys, key)
		for _, limits := range regexp.MustCompile("`?([0-9]+(?:ms|d)?)`? to `?([0-9]+(?:ms|d)?)`?").FindAllStringSubmatch(row[1], -1) {
			for i, limit := range limits[1:] {
				body, past := around[key](limit), around[key](beyond(t, limit, i == 1))
				if !taken(body) || taken(past) {
					t.Errorf("%s: the limit is said to be %s; %s is taken: %v, and %s is: %v", key, limit, body, taken(body), past, taken(past))
				}
			}
		}
		if values := regexp.MustCompile("`([a-z]+)` or `([a-z]+)`").FindStringSubmatch(row[1]); values != nil {
			for _, word := range values[1:] {
				if !taken("at_once: 1, wait: 1s, " + key + ": " + word) {
					t.Errorf("%s: %s is not taken", key, word)
				}
			}
		}
	}
	_, findings := parse.Text("events.yaml", []byte("version: 1\npackage: events\nevents: { e: {} }\nlimits: { l: { at_once: 1, xyzzy: 1 } }\n"))
	if want := "its keys are " + strings.Join(keys, ", "); findings[0].Hint != want {
		t.Errorf("the table has other keys: %s, %s", want, findings[0].Hint)
	}
}

// beyond returns a value a little above or below a limit.
func beyond(t *testing.T, limit string, above bool) string {
	t.Helper()
	if f, err := strconv.ParseFloat(limit, 64); err == nil {
		step := 1.0
		if strings.Contains(limit, ".") {
			step = 0.01
		}
		if !above {
			step = -step
		}
		return strconv.FormatFloat(f+step, 'f', -1, 64)
	}
	if above {
		return limit + "1ns"
	}
	below := map[string]string{"0s": "-1ns", "1ms": "999us", "1s": "999ms"}[limit]
	if below == "" {
		t.Fatalf("this test does not know what is below %s", limit)
	}
	return below
}

func TestTheReferenceNamesEveryReason(t *testing.T) {
	text := strings.Join(referenceLines(t), " ")
	_, section, _ := strings.Cut(text, "`reasons` selects dead letters.")
	section, _, _ = strings.Cut(section, "Without")
	got := code(section)
	slices.Sort(got)
	want := settings.RedriveReasons()
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons (-code +reference):\n%s", diff)
	}
}

func TestTheReferenceShowsTheWaitsOfRetries(t *testing.T) {
	for _, row := range table(t, "`retry`", "2nd") {
		policy := parsed(t, "version: 1\npackage: events\nevents: { e: { retry: "+code(row[0])[0]+" } }\n").Events[0].Settings.Policy()
		for i, want := range row[1:] {
			if got := catalog.Short(policy.Delay(i + 2)); got != want {
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
	methods := []string{"Validate", "WriteJSON", "ReadJSON", "Valid", "String", "MarshalText", "UnmarshalText", "UnmarshalJSON"}
	for _, row := range table(t, "For", "In", "Go") {
		file := code(row[1])[0]
		names := got[file]
		for _, name := range code(row[2]) {
			if token.IsIdentifier(name) && !slices.Contains(methods, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		got[file] = names
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table differs (-generated +table):\n%s", diff)
	}
}

// generate returns the generated files by name.
func generate(t *testing.T, source string) map[string]string {
	t.Helper()
	files, err := templates.Files(parsed(t, source), templates.Target{})
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
