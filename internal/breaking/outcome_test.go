package breaking_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/payload"
	"github.com/busgen/busgen/internal/record"
)

// Whatever becomes of a catalogue: a payload that does not decode any more was told of,
// in its direction.
func TestNoPayloadFailsToDecodeUnlessAFindingSaysSo(t *testing.T) {
	failed, decoded := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawCatalogue(t), drawCatalogue(t)
		texts := map[string]string{"old.yaml": before, "new.yaml": after}
		c := map[string]*catalog.Catalogue{}
		for file, text := range texts {
			var findings diag.Findings
			if c[file], findings = parse.Text(file, []byte(text)); findings != nil {
				t.Skip(findings.Error()) // such as a type that contains itself
			}
		}
		all := compareTexts(t, before, after)
		for direction, pair := range map[diag.Direction][2]string{diag.Backward: {"old.yaml", "new.yaml"}, diag.Forward: {"new.yaml", "old.yaml"}} {
			event := c[pair[0]].Events[0]
			text := writer{t}.object(event.Fields, 0)
			if err := payload.CheckDecode(c[pair[0]], event.Name.V, 1, []byte(text)); err != nil {
				t.Fatalf("the test has made %s: %v", text, err)
			}
			err := payload.CheckDecode(c[pair[1]], event.Name.V, 1, []byte(text))
			if err == nil {
				decoded++
				continue
			}
			failed++
			if !toldError(all, direction) {
				t.Fatalf("%s: %s\n%v\n%v\n%s\n%s", direction, text, err, told(all), before, after)
			}
		}
	})
	if failed == 0 || decoded == 0 {
		t.Errorf("%d payloads decode and %d do not", decoded, failed)
	}
}

// A record of the types has everything that the comparison asks for.
func TestARecordOfACatalogueGivesTheSameFindings(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		texts := []string{drawCatalogue(t), drawCatalogue(t)}
		var states []breaking.State
		for _, text := range texts {
			c, findings := parse.Text("events.yaml", []byte(text))
			if findings != nil {
				t.Skip(findings.Error())
			}
			states = append(states, breaking.State{Catalogue: c, Read: func(string) ([]byte, error) { return []byte(text), nil }})
		}
		var facts []record.Fact
		var lines []string
		for _, f := range record.FactsOf(states[0].Catalogue) {
			lines = append(lines, f.String())
			read, err := record.ParseFact(f.String(), diag.Position{File: "record", Line: len(lines), Column: 1})
			if err != nil {
				t.Fatal(f, err)
			}
			facts = append(facts, read)
		}
		before, wrong := record.ReadFacts(facts)
		if wrong != nil {
			t.Fatal(wrong)
		}
		want, err := breaking.Compare(states[0], states[1])
		if err != nil {
			t.Fatal(err)
		}
		got, err := breaking.Compare(breaking.State{Catalogue: before, Read: func(string) ([]byte, error) { return []byte(strings.Join(lines, "\n")), nil }}, states[1])
		if err != nil {
			t.Fatal(err)
		}
		found += len(want)
		if diff := cmp.Diff(sorted(told(want)), sorted(told(got))); diff != "" {
			t.Fatalf("(-catalogue +record):\n%s\n%s\n%s", diff, texts[0], texts[1])
		}
		for _, f := range got {
			if len(f.Related) > 0 && (f.Related[0].Pos.File != "record" || f.Related[0].Line == "") {
				t.Fatalf("the place before is %+v", f.Related[0])
			}
		}
	})
	if found == 0 {
		t.Error("nothing was found")
	}
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}

func toldError(all diag.Findings, direction diag.Direction) bool {
	for _, f := range all {
		if f.Severity == diag.Error && f.Direction&direction != 0 {
			return true
		}
	}
	return false
}

// drawCatalogue draws a catalogue with one event and types of a few names, so that two
// of them have much in common.
func drawCatalogue(t *rapid.T) string {
	scalars := []string{"string", "bool", "int32", "int64", "uint64", "float64", "bytes", "time", "date", "duration", "uuid", "decimal", "json"}
	named := append([]string{"Color", "Level", "Point", "Line", "Choice"}, scalars...)
	drawType := func(from []string) string {
		text := rapid.SampledFrom(from).Draw(t, "type")
		switch rapid.IntRange(0, 7).Draw(t, "around") {
		case 0:
			return "[]" + text
		case 1:
			return "map[string]" + text
		case 2:
			return text + "?"
		case 3:
			if text != "json" {
				return text + "|null"
			}
		}
		return text
	}
	drawFields := func(from []string) string {
		var fields []string
		for _, name := range []string{"a", "b", "c"} {
			if rapid.IntRange(0, 3).Draw(t, "there") > 0 {
				text := drawType(from)
				bounds := ""
				if (text == "int64" || text == "uint64") && rapid.Bool().Draw(t, "bounded") {
					bounds = ", min: 0, max: 1000"
				}
				fields = append(fields, fmt.Sprintf("%s: { type: %q%s }", name, text, bounds))
			}
		}
		return "{ " + strings.Join(fields, ", ") + " }"
	}
	color := rapid.SampledFrom([]string{"[red, green]", "[red, green, blue]", "[red]", "{ red: 1, green: 2 }", "{ red: 2, green: 1, blue: 3 }"}).Draw(t, "color")
	key := rapid.SampledFrom([]string{"type", "kind"}).Draw(t, "discriminator")
	variants := "one: { fields: " + drawFields(scalars) + " }"
	if rapid.Bool().Draw(t, "second") {
		variants += ", two: { fields: " + drawFields(named[:4]) + " }"
	}
	return fmt.Sprintf(`version: 1
package: p
types:
  Color: { enum: %s }
  Level: { enum: { low: -1, high: 1 } }
  Point: { fields: %s }
  Line: { fields: %s }
  Choice: { discriminator: %s, one_of: { %s } }
events:
  e.happened: { payload: %s }
`, color, drawFields(scalars), drawFields(append([]string{"Point", "Color"}, scalars[:4]...)), key, variants, drawFields(named))
}

// writer makes payloads that generated code could have published.
type writer struct{ t *rapid.T }

func (w writer) object(fields []*catalog.Field, depth int, first ...string) string {
	parts := first
	for _, f := range fields {
		if f.Type.Optional && (depth > 3 || rapid.Bool().Draw(w.t, "absent")) {
			continue
		}
		value := w.value(f.Type, depth)
		if f.Type.Nullable && (depth > 3 || rapid.Bool().Draw(w.t, "null")) {
			value = "null"
		} else if f.Constraints.Max.Written() {
			value = fmt.Sprint(rapid.IntRange(0, 1000).Draw(w.t, "bounded"))
		}
		parts = append(parts, fmt.Sprintf("%q:%s", f.Name.V, value))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (w writer) value(t *catalog.TypeRef, depth int) string {
	one := func(values ...string) string { return rapid.SampledFrom(values).Draw(w.t, "value") }
	switch t.Kind {
	case catalog.String:
		return one(`""`, `"text"`, `"red"`, `"one"`, `"1"`)
	case catalog.Bool:
		return one("true", "false")
	case catalog.Int32:
		return one("0", "1", fmt.Sprint(math.MinInt32), fmt.Sprint(math.MaxInt32))
	case catalog.Int, catalog.Int64:
		return one("0", "1", fmt.Sprint(math.MinInt64), fmt.Sprint(math.MaxInt64))
	case catalog.Uint64:
		return one("0", "1", fmt.Sprint(uint64(math.MaxUint64)))
	case catalog.Float64:
		return one("0", "0.5", "1e+300")
	case catalog.Bytes:
		return one(`""`, `"AAH/"`, "null")
	case catalog.Time:
		return `"2024-02-29T12:30:00Z"`
	case catalog.Date:
		return `"2024-02-29"`
	case catalog.Duration:
		return `"1h30m0s"`
	case catalog.UUID:
		return `"018f4f2e-0000-7000-8000-000000000001"`
	case catalog.Decimal:
		return `"12.50"`
	case catalog.JSON:
		return one("null", "true", "5", `"x"`, `[1]`, `{"a":"b"}`)
	case catalog.List:
		return one("null", "[]", "["+w.value(t.Elem, depth+1)+","+w.value(t.Elem, depth+1)+"]")
	case catalog.Map:
		return one("null", "{}", `{"a":`+w.value(t.Elem, depth+1)+`,"x":`+w.value(t.Elem, depth+1)+"}")
	}
	switch named := t.Named; {
	case named.IsEnum():
		return string(rapid.SampledFrom(named.Values).Draw(w.t, "value").JSON(named))
	case named.IsUnion():
		v := rapid.SampledFrom(named.Variants).Draw(w.t, "variant")
		return w.object(v.Type.Fields, depth+1, fmt.Sprintf("%q:%q", named.Discriminator.V, v.Name.V))
	default:
		return w.object(named.Fields, depth+1)
	}
}
