package importer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/importer"
)

// others returns the findings but for the note that objects are open, which nearly every document has.
func others(r *importer.Result) diag.Findings {
	return slices.DeleteFunc(slices.Clone(r.Findings), isOpen)
}

func isOpen(f *diag.Finding) bool {
	return f.Rule == rules.ImportDetail && strings.HasPrefix(f.Message, "an object without additionalProperties allows properties beyond those it names")
}

func TestAnOpenObjectSaysThatItIsOpen(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"title":"t.done","type":"object","properties":{"a":{"type":"string"}}}`:                              true,
		`{"title":"t.done","type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`: false,
	} {
		if got := importer.Import("t.json", []byte(schema), importer.Options{}); slices.ContainsFunc(got.Findings, isOpen) != want || got.Catalogue == nil {
			t.Errorf("%s: %s", schema, rendered(got))
		}
	}
}

// A keyword says nothing of values of other types.
func TestASchemaWithoutATypeDoesNotNarrowInSilence(t *testing.T) {
	for property, want := range map[string]string{
		`{"additionalProperties":{"type":"string"}}`:                 "a schema with additionalProperties and without a type also allows values of other types; the field takes objects only",
		`{"patternProperties":{"^a":{"type":"string"}}}`:             "a schema with patternProperties and without a type also allows values of other types; the field takes objects only",
		`{"items":{"type":"string"}}`:                                "a schema with items and without a type also allows values of other types; the field takes lists only",
		`{"minLength":1}`:                                            "a schema with minLength and without a type also allows values of other types; the field takes strings only",
		`{"minimum":1}`:                                              "a schema with minimum and without a type also allows values of other types; the field takes numbers only",
		`{"type":"object","additionalProperties":{"type":"string"}}`: "",
		`{"enum":["a"]}`:                                             "",
	} {
		got := importer.Import("t.json", []byte(`{"title":"t.done","type":"object","properties":{"m":`+property+`}}`), importer.Options{})
		if said := rendered(got); !strings.Contains(said, want) || want == "" && strings.Contains(said, "without a type") {
			t.Errorf("%s: %s", property, said)
		}
		example := importer.Import("t.json", []byte(`{"title":"t.done","type":"object","properties":{"m":`+property+`},"examples":[{"m":true}]}`), importer.Options{})
		if want != "" && !strings.Contains(string(example.Catalogue), `m: "json?"`) {
			t.Errorf("%s with an example of another type:\n%s", property, example.Catalogue)
		}
	}
}

func TestIntegersKeepTheirDigits(t *testing.T) {
	for property, want := range map[string]string{
		`{"enum":[9007199254740993]}`:                                                                     `m: "int64?"`,
		`{"const":9007199254740993}`:                                                                      `m: "int64?"`,
		`{"type":"number","enum":[9007199254740993]}`:                                                     `m: "int64?"`,
		`{"enum":[18446744073709551615]}`:                                                                 `m: "uint64?"`,
		`{"type":"integer","minimum":0,"maximum":18446744073709551615}`:                                   `m: "uint64?"`,
		`{"type":"integer","minimum":5,"maximum":9223372036854775808}`:                                    `m: { type: "uint64?", min: 5, max: 9223372036854775808 }`,
		`{"type":"integer","exclusiveMinimum":-1,"maximum":18446744073709551615}`:                         `m: "uint64?"`,
		`{"type":"integer","minimum":0,"maximum":9223372036854775807}`:                                    `m: { type: "int64?", min: 0, max: 9223372036854775807 }`,
		`{"type":"number","examples":[9007199254740993]}`:                                                 `m: "json?"`,
		`{"type":"number","examples":[0.1, 1e3, 9007199254740992]}`:                                       `m: "float64?"`,
		`{"type":"integer","minimum":0,"maximum":18446744073709551615,"examples":[18446744073709551615]}`: `m: "uint64?"`,
	} {
		got := importer.Import("t.json", []byte(`{"title":"t.done","type":"object","properties":{"m":`+property+`}}`), importer.Options{})
		if !strings.Contains(string(got.Catalogue), want) {
			t.Errorf("%s:\n%s\n%s", property, got.Catalogue, rendered(got))
		}
	}
}

// An example has a property whose name a field has in the catalogue already.
func TestAPropertyOfAnExampleThatIsNamedLikeAFieldIsAnotherField(t *testing.T) {
	for _, document := range []string{
		`{"title":"t.done","type":"object","properties":{"messageId":{"type":"string"}},"examples":[{"messageId":"1","message_id":"1"}]}`,
		`{"title":"t.done","type":"object","properties":{"messageId":{"type":"string"}},"required":["message_id"]}`,
	} {
		got := importer.Import("t.json", []byte(document), importer.Options{})
		requireLoads(t, got)
		if text := string(got.Catalogue); !strings.Contains(text, `message_id: "string?"`) || !strings.Contains(text, "json: message_id") {
			t.Errorf("%s\n%s", text, rendered(got))
		}
	}
}

func TestEventsOfAMessageWithSeveralPayloadsKeepItsName(t *testing.T) {
	const document = "asyncapi: 3.0.0\ninfo: { title: T, version: 1.0.0 }\nchannels: { c: { messages: { marketData: { $ref: '#/components/messages/marketData' } } } }\n" +
		"components:\n  messages:\n    marketData:\n      payload:\n        oneOf:\n          - { title: update, type: object, properties: { price: { type: number } } }\n" +
		"          - { title: heartbeat, type: object, properties: { seq: { type: integer } } }\n"
	got := importer.Import("a.yaml", []byte(document), importer.Options{})
	requireLoads(t, got)
	if text := string(got.Catalogue); !strings.Contains(text, "wire: marketData.update\n") || !strings.Contains(text, "wire: marketData.heartbeat\n") {
		t.Error(text)
	}
}
