package catalog_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/templates/testdata/features"
)

// What a catalogue says about a payload is what the code that was generated from
// it says.
func TestCheckPayloadAgreesWithGeneratedCode(t *testing.T) {
	c, findings, err := catalog.Load("../../examples/events.yaml")
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		event := rapid.SampledFrom(c.Events).Draw(t, "event")
		g := payloadGenerator{t: t, spoil: rapid.IntRange(-1, 12).Draw(t, "spoil")}
		payload := []byte(g.object(event.Fields))
		if !json.Valid(payload) {
			t.Fatalf("the test has made %s", payload)
		}
		byCatalogue, byCode := c.CheckPayload(event.Name.V, 1, payload), events.Catalogue.Check(event.Name.V, 1, payload)
		if (byCatalogue == nil) != (byCode == nil) {
			t.Fatalf("%s %s\ncatalogue: %v\ncode:      %v", event.Name.V, payload, byCatalogue, byCode)
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

// odd are values that fit few types.
var odd = []string{`null`, `true`, `"x"`, `""`, `1`, `-1`, `1.5`, `1e2`, `1e400`, `[]`, `[null]`, `{}`, `{"x":1}`, `99999999999`, `"2024-02-30"`, `"AA"`,
	"\"\xff\"", `"\ud800"`, `{"x":1,"x":1}`, `[{"x":1,"x":1}]`}

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
		return rapid.SampledFrom(odd).Draw(g.t, "odd")
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
	c, findings, err := catalog.Load("../../templates/testdata/features.yaml")
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
		var payload any
		decoder := json.NewDecoder(strings.NewReader(string(event.Sample())))
		decoder.UseNumber()
		if err := decoder.Decode(&payload); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 2).Draw(t, "times") {
			payload = spoilt(t, payload)
		}
		text, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		byCatalogue, byCode := c.CheckPayload(event.Name.V, 1, text), features.Catalogue.Check(event.Name.V, 1, text)
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

// spoilt returns a JSON value with one value inside of it replaced by another.
func spoilt(t *rapid.T, value any) any {
	switch value := value.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(value))
		if len(keys) == 0 || rapid.IntRange(0, 9).Draw(t, "here") == 0 {
			break
		}
		key := rapid.SampledFrom(keys).Draw(t, "key")
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0:
			delete(value, key)
		case 1:
			value["unknown"] = json.RawMessage(rapid.SampledFrom([]string{"1", "null"}).Draw(t, "unknown"))
		case 2:
			if was := formerNames[key]; was != nil { // under another name, or under both
				value[rapid.SampledFrom(was).Draw(t, "was")] = value[key]
				if rapid.IntRange(0, 3).Draw(t, "both") > 0 {
					delete(value, key)
				}
			}
		default:
			value[key] = spoilt(t, value[key])
		}
		return value
	case []any:
		if len(value) == 0 || rapid.IntRange(0, 2).Draw(t, "here") == 0 {
			break
		}
		i := rapid.IntRange(0, len(value)-1).Draw(t, "i")
		value[i] = spoilt(t, value[i])
		return append(value, value[:rapid.IntRange(0, 1).Draw(t, "again")]...)
	}
	return json.RawMessage(rapid.SampledFrom(spoils).Draw(t, "spoil"))
}

// formerNames are those of the fields of features.yaml.
var formerNames = map[string][]string{"to": {"home", "address"}, "floor": {"level"}, "stops": {"steps"}, "by": {"how"}, "label": {"name"}}

// spoils are values that some field takes.
var spoils = append([]string{
	`0`, `0.5`, `2`, `5`, `-9`, `10`, `11`, `-6`, `"0.01"`, `"0.009"`, `"1000.0"`, `"1001"`, `"1s"`, `"999ms"`, `"9600h"`, `"ab"`, `"abcde"`, `"äöüß"`, `"AAEC"`, `"AAECAw=="`,
	`"12345678"`, `"a b"`, `"ada@example.org"`, `"Ada <ada@example.org>"`, `["a","a"]`, `["a","b","c"]`, `["monday","friday"]`, `["monday","monday"]`, `{"a":1,"b":2}`, `{"a":1,"b":2,"c":3}`,
	`"red"`, `"2024-02-29"`, `"dark-green"`, `{"kind":"card","last_four":"1","tags":[]}`, `{"kind":"in-cash"}`, `{"kind":"in-cash","x":1}`, `{"kind":"invoice","due_on":"2024-02-29"}`, `{"kind":"cheque"}`,
	`[{"at":"2020-01-01","by":"red"},{}]`, `[{"how":null}]`, `{"x":1,"y":2}`, `{"x":1,"y":2,"z":null}`, `{"kind":"invoice","due_on":"2024-02-29","x":null}`,
	`{"type":"number","value":1}`, `{"type":"sum","left":{"type":"product","factors":[]}}`, `{"street":"x","floor":null}`, `"018F4F2E-0000-7000-8000-000000000001"`,
}, odd...)
