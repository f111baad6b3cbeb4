package payload_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/catalogtest"
	"github.com/busgen/busgen/internal/payload"
	"github.com/busgen/busgen/templates/testdata/features"
)

// What a catalogue says about a payload is what the code that was generated from
// it says.
func TestCheckPayloadAgreesWithGeneratedCode(t *testing.T) {
	c, findings, err := parse.Load("../../examples/events.yaml")
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		event := rapid.SampledFrom(c.Events).Draw(t, "event")
		g := payloadGenerator{t: t, spoil: rapid.IntRange(-1, 12).Draw(t, "spoil")}
		given := []byte(g.object(event.Fields))
		if !json.Valid(given) {
			t.Fatalf("the test has made %s", given)
		}
		byCatalogue, byCode := payload.Check(c, event.Name.V, 1, given), events.Catalogue.Check(event.Name.V, 1, given)
		if (byCatalogue == nil) != (byCode == nil) {
			t.Fatalf("%s %s\ncatalogue: %v\ncode:      %v", event.Name.V, given, byCatalogue, byCode)
		}
		if byCode == nil {
			accepted++
		} else {
			refused++
		}
	})
	if accepted == 0 || refused == 0 {
		t.Errorf("accepted %d and refused %d payloads", accepted, refused)
	}
}

// payloadGenerator makes JSON that fits, except for the spoil-th value.
type payloadGenerator struct {
	t     *rapid.T
	spoil int
}

func (g *payloadGenerator) object(fields []*catalog.Field) string {
	var parts []string
	for _, f := range fields {
		if f.Type.Optional && rapid.Bool().Draw(g.t, "absent") {
			continue
		}
		g.spoil--
		switch {
		case g.spoil == 0 && rapid.Bool().Draw(g.t, "missing"):
		case g.spoil == 0 && rapid.Bool().Draw(g.t, "twice"):
			parts = append(parts, `"`+f.Name.V+`":`+g.value(f.Type), `"`+f.Name.V+`":`+g.value(f.Type))
		case g.spoil == 0 && rapid.Bool().Draw(g.t, "misspelt"):
			parts = append(parts, `"x_`+f.Name.V+`":1`)
		default:
			parts = append(parts, `"`+f.Name.V+`":`+g.value(f.Type))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (g *payloadGenerator) value(t *catalog.TypeRef) string {
	if g.spoil == 0 {
		g.spoil--
		return rapid.SampledFrom(catalogtest.Odd).Draw(g.t, "odd")
	}
	n := rapid.IntRange(0, 9).Draw(g.t, "n")
	switch t.Kind {
	case catalog.Bool:
		return fmt.Sprint(n%2 == 0)
	case catalog.Int, catalog.Int32, catalog.Int64, catalog.Uint64, catalog.Float64:
		return fmt.Sprint(n)
	case catalog.Bytes:
		return `"AAH/"`
	case catalog.Time:
		return `"2024-02-29T12:30:00Z"`
	case catalog.Date:
		return `"2024-02-29"`
	case catalog.Duration:
		return `"1h30m0s"`
	case catalog.UUID:
		return `"018f4f2e-0000-7000-8000-000000000001"`
	case catalog.JSON:
		return `{"a":[1]}`
	case catalog.List:
		g.spoil--
		return "[" + g.value(t.Elem) + "," + g.value(t.Elem) + "]"
	case catalog.Map:
		g.spoil--
		return `{"k":` + g.value(t.Elem) + "}"
	case catalog.Named:
		if t.Named.IsEnum() {
			text, _ := json.Marshal(t.Named.Values[n%len(t.Named.Values)].Name.V)
			return string(text)
		}
		return g.object(t.Named.Fields)
	}
	return `"text"`
}

// The same for every construct of the language: a valid payload with one value
// replaced.
func TestCheckPayloadAgreesWithGeneratedCodeOnSpoiledSamples(t *testing.T) {
	c, findings, err := parse.Load("../../templates/testdata/features.yaml")
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	var all []*catalog.Event
	for _, e := range c.Events {
		if e.Name.V != "host.seen" { // what a custom Go type takes is its own affair
			all = append(all, e)
		}
	}
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		event := rapid.SampledFrom(all).Draw(t, "event")
		var given any
		decoder := json.NewDecoder(strings.NewReader(string(event.Sample())))
		decoder.UseNumber()
		if err := decoder.Decode(&given); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 2).Draw(t, "times") {
			given = catalogtest.Spoilt(t, given)
		}
		text, err := json.Marshal(given)
		if err != nil {
			t.Fatal(err)
		}
		byCatalogue, byCode := payload.Check(c, event.Name.V, 1, text), features.Catalogue.Check(event.Name.V, 1, text)
		if (byCatalogue == nil) != (byCode == nil) {
			t.Fatalf("%s %s\ncatalogue: %v\ncode:      %v", event.Name.V, text, byCatalogue, byCode)
		}
		if byCode == nil {
			accepted++
		} else {
			refused++
		}
	})
	if accepted == 0 || refused == 0 {
		t.Errorf("accepted %d and refused %d payloads", accepted, refused)
	}
}
