package importer_test

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/importer"
)

// An optional property may be absent or null, and a field has one word for both. What the examples have stays.
func TestNullInAnExampleOfAnOptionalPropertyIsKept(t *testing.T) {
	for _, c := range []struct{ name, property, examples, want, finding string }{
		{"all have it", `{"type":["string","null"]}`, `[{"k":1,"x":null},{"k":2,"x":"a"}]`, `x: string|null`, `which is optional; it is nullable instead`},
		{"all have the list", `{"type":["array","null"],"items":{"type":"string"}}`, `[{"k":1,"x":null}]`, `x: "[]string"`, `nullable instead`},
		{"some lack it", `{"type":["string","null"]}`, `[{"k":1,"x":null},{"k":2}]`, `x: "json?"`, `which others do not have at all; it takes any JSON`},
		{"some lack what has names", `{"type":["object","null"],"properties":{"a":{"type":"string"}}}`, `[{"k":1,"x":null},{"k":2}]`, "  ThingDoneX: { fields: { a: \"string?\" } }\n\nevents:\n  thing_done:\n    payload: { k: int64, x: \"json?\" }", `it takes any JSON`},
		{"some lack what has names in a list", `{"type":["array","null"],"items":{"properties":{"a":{"type":"string"}}}}`, `[{"k":1,"x":null},{"k":2}]`, "  ThingDoneX: { fields: { a: \"string?\" } }\n\nevents:\n  thing_done:\n    payload: { k: int64, x: \"json?\" }", `it takes any JSON`},
		{"null is no value", `{"type":"string"}`, `[{"k":1,"x":null}]`, `x: "string?"`, ``},
		{"it is any JSON anyway", `{}`, `[{"k":1,"x":null},{"k":2}]`, `x: "json?"`, ``},
		{"never null", `{"type":["string","null"]}`, `[{"k":1},{"k":2,"x":"a"}]`, `x: "string?"`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			document := `{"title":"thing.done","type":"object","required":["k"],"properties":{"k":{"type":"integer"},"x":` + c.property + `},"examples":` + c.examples + `}`
			result := importer.Import("thing.json", []byte(document), importer.Options{})
			requireLoads(t, result)
			if !strings.Contains(string(result.Catalogue), c.want) {
				t.Errorf("%s is not in\n%s", c.want, result.Catalogue)
			}
			if said := rendered(result); !strings.Contains(said, c.finding) || c.finding == "" && strings.Contains(said, "has null") {
				t.Errorf("%q is not what is said:\n%s", c.finding, said)
			}
		})
	}
	required := `{"title":"thing.done","type":"object","required":["x"],"properties":{"x":{"type":["string","null"]}},"examples":[{"x":null}]}`
	if result := importer.Import("thing.json", []byte(required), importer.Options{}); len(others(result)) > 0 {
		t.Errorf("a required property can be null anyway:\n%s", rendered(result))
	}
}

func TestExamplesInOtherFilesAreEvidence(t *testing.T) {
	give := func(document string, payloads ...string) *importer.Result {
		var o importer.Options
		for _, p := range payloads {
			o.Examples = append(o.Examples, importer.Example{File: "example.json", Source: []byte(p)})
		}
		return importer.Import("thing.json", []byte(document), o)
	}
	one := `{"title":"thing.done","type":"object","properties":{"at":{"type":"string","format":"date-time"}}}`
	two := `{"oneOf":[` +
		`{"title":"thing.done","type":"object","required":["done"],"properties":{"done":{"type":"string","format":"date-time"}}},` +
		`{"title":"thing.left","type":"object","required":["left"],"properties":{"left":{"type":"string","format":"date-time"}}}]}`
	bare := `{"title":"thing.done","type":"object","properties":{"a":{"type":"string"}},"patternProperties":{"^x_":{"type":"string"}},"additionalProperties":false}`
	closed := strings.Replace(bare, "^x_", "^x_(?!z)", 1)
	defs := `{"$defs":{` +
		`"thing.done":{"type":"object","required":["done"],"properties":{"done":{"type":"string"}}},` +
		`"thing.left":{"type":"object","required":["left"],"properties":{"left":{"type":"string"}}}}}`
	for name, c := range map[string]struct {
		result  *importer.Result
		want    []string
		finding string
	}{
		"none":                {give(one), []string{`payload: { at: "time?" }`}, ""},
		"a text in no format": {give(one, `{"at":"2024-02-29T12:30:00.000Z"}`), []string{`payload: { at: "string?" }`}, `example.json:1:7: warning: the example is "2024-02-29T12:30:00.000Z"`},
		"a property more":     {give(one, `{}`, `{"by":"me"}`), []string{`payload: { at: "time?", by: "json?" }`}, `example.json:1:2: warning: the example has "by"`},
		"of one alternative":  {give(two, `{"left":"2024-02-29T12:30:00.000Z"}`), []string{`payload: { done: time }`, `payload: { left: string }`}, `example.json:1:9: warning: the example is`},
		"of one definition":   {give(defs, `{"left":"a","by":"me"}`), []string{`payload: { done: string }`, `payload: { left: string, by: "json?" }`}, `example.json:1:13: warning: the example has "by"`},
		"names by a pattern":  {give(bare, `{"x_1":"a","z":"b"}`), []string{`payload: { a: "string?", x_1: "json?" }`}, `the example has "x_1"`},
		"names by a pattern that Go does not know": {give(closed, `{"y":"a"}`), []string{`payload: { a: "string?", y: "json?" }`}, `the example has "y"`},
		"in a map of keys of a pattern": {give(`{"title":"thing.done","type":"object","properties":{"by":{"type":"object","patternProperties":{"^x":{"type":"object","properties":{"a":{"type":"string"}}}}}}}`, `{"by":{"x1":{"b":1}}}`),
			[]string{`by: { type: "map[string]{}?", fields: { a: "string?", b: "json?" } }`}, `the example has "b"`},
		"of none": {give(two, `{"by":"me"}`), []string{`payload: { done: time }`}, `example.json:1:1: warning: the example matches none`},
	} {
		t.Run(name, func(t *testing.T) {
			requireLoads(t, c.result)
			for _, want := range c.want {
				if !strings.Contains(string(c.result.Catalogue), want) {
					t.Errorf("%s is not in\n%s", want, c.result.Catalogue)
				}
			}
			if said := rendered(c.result); !strings.Contains(said, c.finding) || c.finding == "" && len(others(c.result)) > 0 {
				t.Errorf("%q is not what is said:\n%s", c.finding, said)
			}
			if strings.Contains(string(c.result.Catalogue), "examples:") {
				t.Errorf("the payload became an example:\n%s", c.result.Catalogue)
			}
		})
	}
	many := `{"title":"thing.done","type":"object","properties":{"at":{"type":"array","items":{"type":"string","format":"date-time"}}}}`
	long := `{"at":[` + strings.Repeat(`"2024-02-29T12:30:00Z",`, 5000) + `"2024-02-29T12:30:00.000Z"]}`
	if result := give(many, long); !strings.Contains(string(result.Catalogue), `at: "[]string?"`) {
		t.Errorf("what is at the end of a long example:\n%s", result.Catalogue)
	}
	if result := give(one, `{"at":`); result.Catalogue != nil || !strings.Contains(rendered(result), "example.json:1:6: error: it is not JSON") {
		t.Errorf("a file that is not JSON:\n%s", rendered(result))
	}
}
