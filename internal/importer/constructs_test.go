package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/importer"
)

// Each construct of JSON Schema, alone in the property x of a payload: what the catalogue has for it, and the rules of
// the findings.
func TestConstructsBecomeWhatTakesTheSameValues(t *testing.T) {
	for _, c := range []struct{ schema, want, rules string }{
		// types
		{`{"type":"string"}`, `x: "string?"`, ""},
		{`{}`, `x: "json?"`, ""},
		{`true`, `x: "json?"`, ""},
		{`{"type":["string","null"]}`, `x: "string?"`, ""},
		{`{"type":"string","nullable":true}`, `x: "string?"`, ""},
		{`{"type":["string","integer"]}`, `x: "json?"`, "import-type"},
		{`{"required":["a"],"properties":{"a":{"type":["string","null"],"maxLength":5}}}`, `fields: { a: { type: string|null, max_length: 5 } }`, ""},
		{`{"required":["a"],"properties":{"a":{"anyOf":[{"$ref":"#/$defs/One"},{"type":"null"}]}}}`, `fields: { a: One|null }`, ""},
		{`{"required":["a"],"properties":{"a":{"type":"string","nullable":true,"default":"b"}}}`, `fields: { a: { type: string|null, default: b } }`, ""},
		{`{"required":["a"],"properties":{"a":{"type":["array","null"],"items":{"type":"string"}}}}`, `fields: { a: "[]string" }`, ""},
		{`{"required":["a"],"properties":{"a":{"type":["array","null"],"items":{"type":"string"},"minItems":1}}}`, `fields: { a: { type: "[]string|null", min_items: 1 } }`, ""},
		{`{"required":["a"],"properties":{"a":{"type":["object","null"],"properties":{"b":{"type":"string"}}}}}`, `a: { type: "{}|null", fields: { b: "string?" } }`, ""},
		{`{"required":["a"],"properties":{"a":{"enum":["x",null]}}}`, `fields: { a: OnceXA|null }`, ""},
		{`{"required":["a"],"properties":{"a":{}}}`, `fields: { a: json }`, ""},
		{`{"type":["integer","number"]}`, `x: "float64?"`, ""},
		{`{"type":"array"}`, `x: "[]json?"`, ""},
		{`{"type":"array","items":{"type":"string"}}`, `x: "[]string?"`, ""},
		{`{"type":"array","items":{"type":["string","null"]}}`, `x: "[]json?"`, "import-null"},
		{`{"type":"array","items":[{"type":"string"},{"type":"integer"}]}`, `x: "[]json?"`, "import-type"},
		{`{"type":"array","prefixItems":[{"type":"string"}]}`, `x: "[]json?"`, "import-type"},
		{`{"type":"array","prefixItems":[{"type":"string"}],"items":false}`, `x: "[]string?"`, ""},
		{`{"type":"array","items":[{"type":"string"},{"type":"string"}],"additionalItems":false}`, `x: "[]string?"`, ""},
		{`{"type":"array","items":[{"type":"string"},{"type":"string"}],"maxItems":2}`, `x: { type: "[]string?", max_items: 2 }`, ""},
		{`{"type":"array","items":[{"type":"string"},{"type":"string"}],"maxItems":3}`, `x: { type: "[]json?", max_items: 3 }`, "import-type"},
		{`{"type":"array","items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}`, `x: "[]json?"`, "import-type"},
		{`{"type":"array","oneOf":[{"items":{"type":"object","properties":{"a":{"type":"string"}}}},{"items":[{"type":"object","properties":{"b":{"type":"string"}}}],"maxItems":1}]}`, `fields: { a: "string?", b: "string?" }`, "import-keyword import-keyword"},
		{`{"type":"object"}`, `x: "map[string]json?"`, ""},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, `x: "map[string]int64?"`, ""},
		{`{"type":"object","additionalProperties":{"type":["integer","null"]}}`, `x: "map[string]json?"`, "import-null"},
		{`{"type":"object","patternProperties":{"^a":{"type":"integer"}}}`, `x: "map[string]int64?"`, "import-constraint"},
		{`{"type":"object","patternProperties":{"^a":{"type":"integer"},"^b":{"type":"string"}}}`, `x: "map[string]json?"`, "import-keyword"},
		{`{"properties":{"e":{"type":"string"},"E":{"type":"integer"},"contentUrl":{"type":"string"},"contentURL":{"type":"string"}}}`,
			`fields: e: "string?" e2: { type: "int64?", json: E } content_url: "string?" content_url2: { type: "string?", json: contentURL }`, ""},
		{`{"required":["it's","b"],"properties":{"it's":{"type":"string"},"b":{"type":"string"}}}`, `types: OnceX: { fields: { b: string } } Text: string Whole: int64 Other: { schema: other, type: float64 } One: { fields: { o: "string?" } } Two: { fields: { w: "string?" } } Old: bool events: once: payload: { x: "json?" }`, "import-name"},
		{`{"type":"array","items":{"properties":{"🙂":{"type":"string"}}}}`, `payload: { x: "[]json?" }`, "import-name"},
		// values
		{`{"enum":["a","b"]}`, `enum: [a, b]`, ""},
		{`{"enum":["a",null]}`, `enum: [a]`, ""},
		{`{"enum":[1,2]}`, `enum: { "1": 1, "2": 2 }`, ""},
		{`{"enum":["a",1]}`, `x: "json?"`, "import-enum"},
		{`{"const":"a"}`, `enum: [a]`, ""},
		{`{"const":true}`, `x: "bool?"`, "import-enum"},
		{`{"enum":[true,false]}`, `x: "bool?"`, ""},
		// together
		{`{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"integer"}},"required":["b"]}]}`, `fields: { a: "string?", b: int64 }`, ""},
		{`{"$ref":"#/$defs/Text","maxLength":5}`, `max_length: 5`, ""},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `x: "string?"`, ""},
		{`{"oneOf":[{"type":"string","maxLength":3},{"type":"string","minLength":9}]}`, `x: "string?"`, "import-keyword"},
		{`{"oneOf":[{"type":"string"},{"type":"object","properties":{"a":{}}}]}`, `x: "json?"`, "import-union"},
		{`{"oneOf":[{"type":"object","required":["k"],"properties":{"k":{"const":"a"}}},{"type":"object","required":["k"],"properties":{"k":{"const":"b"}}}]}`, `one_of: { a: { fields: {} }, b: { fields: {} } }`, ""},
		{`{"oneOf":[{"type":"object","properties":{"k":{"const":"a"}}},{"type":"object","properties":{"k":{"const":"b"}}}]}`, `fields: { k: "OnceXK?" }`, "import-keyword"},
		{`{"oneOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}},{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}}}]}`, `fields: { a: "json?", b: "string?" }`, "import-keyword import-keyword"},
		{`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}`, `fields: { a: "string?", b: "string?" }`, "import-keyword"},
		{`{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{},"additionalProperties":false}]}`, `fields: { a: "string?" }`, "import-keyword"},
		{`{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object"}]}`, `x: "json?"`, "import-union"},
		{`{"oneOf":[{"type":"object","additionalProperties":false},{"type":"object","properties":{},"additionalProperties":false}]}`, `x: "json?"`, "import-union"},
		{`{"discriminator":{"propertyName":"k","mapping":{"a":"#/$defs/One","b":"#/$defs/One","c":"#/$defs/Two"}},"oneOf":[{"$ref":"#/$defs/One"},{"$ref":"#/$defs/Two"}]}`, `one_of: { a: One, b: { fields: { o: "string?" } }, c: Two }`, ""},
		{`{"type":"object","properties":{"a":{"type":"string"}},"if":{"properties":{"a":{"const":"b"}}},"then":{"properties":{"c":{"type":"string"}}}}`, `fields: { a: "string?", c: "string?" }`, "import-keyword"},
		{`{"if":{"type":"string"},"then":{"minLength":1},"else":{"type":"object","properties":{"a":{"type":"string"}}}}`, `x: "json?"`, "import-keyword import-keyword import-keyword"},
		{`{"if":{"type":"object"},"then":{"properties":{"a":{"type":"string"}}}}`, `fields: { a: "string?" }`, "import-keyword"},
		{`{"not":{"type":"string"}}`, `x: "json?"`, "import-keyword"},
		{`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}}`, `fields: { a: "string?" }`, "import-keyword"},
		// references
		{`{"$ref":"#/$defs/Text"}`, `x: "Text?"`, ""},
		{`{"type":"array","items":{"$ref":"#/$defs/Text"},"uniqueItems":true}`, `x: { type: "[]Text?", unique: true }`, ""},
		{`{"anyOf":[{"$ref":"#/$defs/Text"},{"type":"null"}],"default":"a"}`, `x: { type: "Text?", default: a }`, ""},
		{`{"$ref":"#/$defs/One/properties/o"}`, `x: "string?"`, ""},
		{`{"$ref":"#/definitions/Old"}`, `x: "Old?"`, ""},
		{`{"$ref":"#anchored"}`, `types: Text: string Anchored: { schema: anchored, type: int64 }`, ""},
		{`{"$ref":"other.json"}`, `x: "Other?"`, ""},
		{`{"$ref":"#/$defs/Nope"}`, `x: "json?"`, "import-reference"},
		{`{"$ref":"#/$defs/Nope","type":"string","maxLength":5}`, `x: { type: "string?", max_length: 5 }`, "import-reference"},
		{`{"$recursiveRef":"#"}`, `x: "json?"`, "import-keyword"},
		// texts
		{`{"type":"string","format":"uuid"}`, `x: "uuid?"`, ""},
		{`{"type":"string","format":"uuid","examples":["ABCDEF00-0000-4000-8000-000000000000"]}`, `x: "string?"`, "import-example"},
		{`{"type":"string","format":"date-time"}`, `x: "time?"`, ""},
		{`{"type":"string","format":"date-time","example":"2024-02-29 12:30:00"}`, `x: "string?"`, "import-example"},
		{`{"type":"string","format":"date-time","example":"2024-02-29T12:30:00.000Z"}`, `x: "string?"`, "import-example"},
		{`{"type":"string","contentEncoding":"base64"}`, `x: "bytes?"`, ""},
		{`{"type":"string","format":"uri"}`, `x: "string?"`, "import-format"},
		{`{"type":"string","pattern":"^(?=a)"}`, `x: "string?"`, "import-constraint"},
		// numbers
		{`{"type":"integer","examples":[123456789012345678901]}`, `x: "json?"`, "import-example"},
		{`{"type":"integer","exclusiveMinimum":0}`, `min: 1`, ""},
		{`{"type":"integer","minimum":0,"exclusiveMinimum":true}`, `min: 1`, ""},
	} {
		t.Run(c.schema, func(t *testing.T) {
			document := fmt.Sprintf(`{"title":"once","type":"object","properties":{"x":%s},
"$defs":{"Text":{"type":"string"},"Whole":{"$anchor":"anchored","type":"integer"},"other":{"$id":"other.json","type":"number"},
"One":{"type":"object","properties":{"o":{"type":"string"}}},"Two":{"type":"object","properties":{"w":{"type":"string"}}}},
"definitions":{"Old":{"type":"boolean"}}}`, c.schema)
			result := importer.Import("once.json", []byte(document), importer.Options{})
			requireLoads(t, result)
			if !strings.Contains(strings.Join(strings.Fields(string(result.Catalogue)), " "), c.want) {
				t.Errorf("%s is not in\n%s", c.want, result.Catalogue)
			}
			var rules []string
			for _, f := range result.Findings {
				if f.Rule.ID != "import-detail" {
					rules = append(rules, f.Rule.ID)
				}
			}
			if got := strings.Join(rules, " "); got != c.rules {
				t.Errorf("found %q, want %q\n%s", got, c.rules, rendered(result))
			}
		})
	}
}

// The namespace message.* makes Go names, as the event message does.
func TestAnEventCanBeCalledAsANamespaceIs(t *testing.T) {
	document := `{"asyncapi": "1.2.0", "topics": {
		"message": {"subscribe": {"payload": {"type": "object", "properties": {"event": {"type": "object", "properties": {"text": {"type": "string"}}}}}}},
		"message.im": {"subscribe": {"payload": {"type": "object", "properties": {"text": {"type": "string"}}}}},
		"message.mpim": {"publish": {"payload": {"type": "object", "properties": {"text": {"type": "string"}}}}}}}`
	result := importer.Import("events.json", []byte(document), importer.Options{})
	requireLoads(t, result)
	for _, want := range []string{"message:", "message.im:", "message.mpim:", "event:", "subscriptions: { message.mpim: {} }"} {
		if !strings.Contains(string(result.Catalogue), want) {
			t.Errorf("%s is not in\n%s", want, result.Catalogue)
		}
	}
}

// A message that is written again in another channel, word for word, is one event: its name stays.
func TestAMessageThatIsWrittenAgainIsTheSameEvent(t *testing.T) {
	const document = `{"asyncapi":"3.0.0","channels":{
		"a":{"messages":{"ask":{"payload":{"type":"object","properties":{"text":{"type":"string"}}}}}},
		"b":{"messages":{"ask":{"payload":{"type":"object","properties":{"text":{"type":%q}}}}}}},
		"operations":{"one":{"action":"receive","channel":{"$ref":"#/channels/a"}},"two":{"action":"receive","channel":{"$ref":"#/channels/b"}}}}`
	result := importer.Import("events.json", fmt.Appendf(nil, document, "string"), importer.Options{})
	requireLoads(t, result)
	if got := string(result.Catalogue); strings.Contains(got, "ask2") || !strings.Contains(got, "subscriptions: { one: {}, two: {} }") {
		t.Errorf("not one event with two subscriptions:\n%s", got)
	}
	result = importer.Import("events.json", fmt.Appendf(nil, document, "integer"), importer.Options{})
	if requireLoads(t, result); !strings.Contains(string(result.Catalogue), "ask2") {
		t.Errorf("not two events:\n%s", result.Catalogue)
	}
}

// Conditions about the values of one property make an event for each value, and one for all other values.
func TestWhatIsAskedOfAllOtherValuesIsAnEvent(t *testing.T) {
	const document = `{"title":"thing","type":"object","properties":{"kind":{"type":"string"}},"required":["kind"],"allOf":[
		{"if":{"properties":{"kind":{"const":"a"}}},"then":{"type":"object","properties":{"x":{"type":"string"}}}},
		{"if":{"properties":{"kind":{"const":"b"}}},"then":{"type":"object","properties":{"y":{"type":"string"}}}},
		{"if":{"not":{"properties":{"kind":{"enum":[%s]}}}},"then":{"type":"object","properties":{"z":{"type":"string"}}}}]}`
	for values, want := range map[string]bool{`"a","b"`: true, `"b","a"`: true, `"a"`: false, `"a","b","c"`: false, `"a","c"`: false} {
		result := importer.Import("thing.json", fmt.Appendf(nil, document, values), importer.Options{})
		requireLoads(t, result)
		made := strings.Contains(string(result.Catalogue), `other:
    payload: { kind: string, z: "string?" }`)
		if told := strings.Contains(rendered(result), `"if" has no counterpart`); made != want || told == want {
			t.Errorf("%s:\n%s%s", values, result.Catalogue, rendered(result))
		}
	}
}

// Alternatives at the top are events, also beside properties, if each has another value of one property.
func TestPayloadsWithAnotherValueOfOnePropertyEachAreEvents(t *testing.T) {
	const document = `{"title":"thing","type":"object","properties":{"id":{"type":"integer"},"of":{"type":"string"},"data":{"type":"object"}},"required":["id"],"oneOf":[
		{"properties":{"of":{"const":%q},"data":{"type":"object","properties":{"x":{"type":"string"}}}},"required":["data"]},
		{"properties":{"of":{"const":%q},"data":{"type":"object","properties":{"y":{"type":"string"}}}}}]}`
	for _, c := range []struct{ one, other, wantOne, wantOther string }{
		{"left", "right", "left", "right"},
		{"https://example.org/a/v1/left.json", "https://example.org/a/v1/right.json", "left", "right"},
		{"https://example.org/a/v1/left.json", "https://example.org/ab/v1/right.yaml", "a.v1.left.json", "ab.v1.right.yaml"},
		{"https://example.org/left.json", "urn:right", "https.example.org.left.json", "urn.right"},
	} {
		result := importer.Import("thing.json", fmt.Appendf(nil, document, c.one, c.other), importer.Options{})
		requireLoads(t, result)
		for _, want := range []string{"  " + c.wantOne + ":\n", "  " + c.wantOther + ":\n", `fields: { x: "string?" }`, `fields: { y: "string?" }`} {
			if !strings.Contains(string(result.Catalogue), want) {
				t.Errorf("%s, %s: %s is not in\n%s", c.one, c.other, want, result.Catalogue)
			}
		}
	}
	same := importer.Import("thing.json", fmt.Appendf(nil, document, "left", "left"), importer.Options{})
	if requireLoads(t, same); !strings.Contains(string(same.Catalogue), "\n  thing:\n") {
		t.Errorf("of the same value:\n%s", same.Catalogue)
	}
}

// A field that takes any JSON has no words for the properties of its values: types have them.
func TestStructsAmongValuesThatAreAnyJSONAreTypes(t *testing.T) {
	for schema, want := range map[string]string{
		`{"oneOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"string"}}}]}`:                                                      `OnceX: { fields: { a: "string?" } }`,
		`{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"object","title":"Line","properties":{"a":{"type":"string"}}}}]}`:              `Line: { fields: { a: "string?" } }`,
		`{"type":["string","object"],"minLength":1,"properties":{"a":{"type":"string"}}}`:                                                           `OnceX: { fields: { a: "string?" } }`,
		`{"type":"array","items":[{"type":"object","properties":{"a":{"type":"string"}}}]}`:                                                         `OnceX: { fields: { a: "string?" } }`,
		`{"type":"object","patternProperties":{"^a":{"type":"object","properties":{"a":{"type":"string"}}},"^b":{}}}`:                               `OnceX: { fields: { a: "string?" } }`,
		`{"oneOf":[{"type":"string"},{"$ref":"#/$defs/One"}]}`:                                                                                      `One: { fields: { o: "string?" } }`,
		`{"oneOf":[{"type":"string"},{"type":"object","properties":{"a":{"oneOf":[{"type":"integer"},{"type":"object","properties":{"b":{}}}]}}}]}`: `OnceXA: { fields: { b: "json?" } }`,
		`{"type":["string","object"],"additionalProperties":{"type":"object","properties":{"a":{"type":"string"}}}}`:                                `OnceX: { fields: { a: "string?" } }`,
		`{"type":"array","items":{"type":["object","null"],"properties":{"a":{"type":"string"}}}}`:                                                  `OnceX: { fields: { a: "string?" } }`,
		`{"type":"object","additionalProperties":{"type":["object","null"],"properties":{"a":{"type":"string"}}}}`:                                  `OnceX: { fields: { a: "string?" } }`,
		`{"type":"array","contains":{"type":"object","properties":{"a":{"type":"string"}}}}`:                                                        `OnceX: { fields: { a: "string?" } }`,
		`{"properties":{"k":{}},"additionalProperties":{"type":"object","properties":{"a":{"type":"string"}}}}`:                                     `OnceXOther: { fields: { a: "string?" } }`,
		`{"properties":{"k":{}},"patternProperties":{"^a":{"type":"object","properties":{"a":{"type":"string"}}}}}`:                                 `OnceXOther: { fields: { a: "string?" } }`,
		`{"type":["string","integer"]}`: ``,
	} {
		t.Run(schema, func(t *testing.T) {
			document := `{"title":"once","type":"object","properties":{"x":` + schema + `},"$defs":{"One":{"type":"object","properties":{"o":{"type":"string"}}}}}`
			result := importer.Import("once.json", []byte(document), importer.Options{})
			requireLoads(t, result)
			got := strings.ReplaceAll(strings.Join(strings.Fields(string(result.Catalogue)), " "), "doc: Line, ", "")
			if !strings.Contains(got, want) || want == "" && strings.Contains(got, "OnceX") {
				t.Errorf("%s is not in\n%s", want, result.Catalogue)
			}
		})
	}
	endless := `{"title":"once","type":"object","properties":{"x":{"$ref":"#/$defs/Text"}},"$defs":{"Text":{"oneOf":[{"type":"string"},{"type":"array","items":{"$ref":"#/$defs/Text"}},
		{"type":"object","title":"Bold","properties":{"of":{"$ref":"#/$defs/Text"}}}]}}}`
	result := importer.Import("once.json", []byte(endless), importer.Options{})
	if requireLoads(t, result); !strings.Contains(string(result.Catalogue), `of: "json?"`) || strings.Contains(rendered(result), "contains itself") {
		t.Errorf("texts in texts:\n%s%s", result.Catalogue, rendered(result))
	}
}
