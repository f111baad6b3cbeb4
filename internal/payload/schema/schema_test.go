package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/catalogtest"
	"github.com/busgen/busgen/internal/payload"
	"github.com/busgen/busgen/internal/payload/schema"
)

func TestTheSchemaOfAnEventIsOneLineWithWhatItsPayloadNeeds(t *testing.T) {
	const text = `version: 1
package: events
types:
  Currency: { enum: [EUR, USD] }
  Level: { enum: { low: { number: 1 }, high: { number: 2 } } }
  Money: { fields: { amount: int64, currency: Currency } }
  Host: { go: { import: net/netip, type: Addr }, type: string }
  Other: { fields: { n: int } }
  Payment:
    discriminator: kind
    one_of:
      card: { fields: { number: { type: string, min_length: 4, max_length: 19 } } }
      money: Money
defaults: { timeout: 3s }
events:
  order.placed:
    doc: A customer placed an order.
    version: 2
    history:
      1: { payload: { total: int } }
    payload:
      note: { type: "string?", default: none, pattern: "^[a-z<]*$" }
      total: Money
      lines: { type: "[]{}", min_items: 1, fields: { article: string } }
      levels: "map[string]Level"
      by: Payment
      from: Host
      rate: { type: float64, min: 0.5 }
      size: { type: int, was: [width, breadth], default: 7 }
      sort: { type: "string?", was: kind, default: a }
    reserved: [colour]
  other.seen: { payload: { o: Other } }
`
	c, findings := parse.Text("events.yaml", []byte(text))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	const want = `{"event":"order.placed","version":2,` +
		`"payload":{"note":{"type":"string?","pattern":"^[a-z<]*$"},"total":"Money","lines":{"type":"[]{}","fields":{"article":"string"},"min_items":1},` +
		`"levels":"map[string]Level","by":"Payment","from":"Host","rate":{"type":"float64","min":"0.5"},` +
		`"size":{"type":"int","was":["width","breadth"],"default":7},"sort":{"type":"string?","was":["kind"]}},` +
		`"history":{"1":{"total":"int"}},` +
		`"types":{"Currency":{"enum":["EUR","USD"]},"Host":{"custom":"string"},"Level":{"numbers":{"low":1,"high":2}},` +
		`"Money":{"fields":{"amount":"int64","currency":"Currency"}},` +
		`"Payment":{"discriminator":"kind","one_of":{"card":{"fields":{"number":{"type":"string","min_length":4,"max_length":19}}},"money":{"type":"Money"}}}}}`
	if got := schema.Of(c.Events[0]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	edited, findings := parse.Text("events.yaml", []byte(strings.NewReplacer("timeout: 3s", "timeout: 4s, priority: high", "A customer placed", "Somebody placed",
		"default: none", "default: some, doc: What is said", "default: a }", "default: b }", "reserved: [colour]", "reserved: [paint]", "other.seen:", "another.seen:").Replace(text)))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	if got := schema.Of(edited.Events[0]); got != want {
		t.Errorf("docs, settings and another event have changed the schema: %s", got)
	}
	if got := fmt.Sprint(payload.CustomTypes(c, "order.placed", 2), payload.CustomTypes(c, "order.placed", 1), payload.CustomTypes(c, "nope", 1)); got != "[Host] [] []" {
		t.Errorf("custom types: %s", got)
	}
}

// What is said of a payload by the schema of its event is what the catalogue says of it, word for word.
func TestTheSchemaOfAnEventSaysWhatTheCatalogueSays(t *testing.T) {
	load := func(path string) *catalog.Catalogue {
		c, findings, err := parse.Load(path)
		if err != nil || len(findings) > 0 {
			t.Fatal(err, findings)
		}
		return c
	}
	fixed := []*catalog.Catalogue{load("../../../examples/events.yaml"), load("../../../templates/testdata/features.yaml")}
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(fixed).Draw(t, "catalogue")
		if rapid.Bool().Draw(t, "made up") {
			if made, findings := parse.Text("events.yaml", []byte(catalogtest.Made(t))); len(findings) == 0 && len(made.Events) > 0 {
				c = made
			}
		}
		event := rapid.SampledFrom(c.Events).Draw(t, "event")
		stored, err := schema.Read(c.File, schema.Of(event))
		if err != nil {
			t.Fatalf("%v\n%s", err, schema.Of(event))
		}
		if again := schema.Of(stored.Events[0]); again != schema.Of(event) {
			t.Fatalf("read and written again it is another schema:\n%s\n%s", schema.Of(event), again)
		}
		given, version := event.Sample(), event.Version.V
		if forms := catalogtest.WireForms(event, 1); rapid.Bool().Draw(t, "version 1") && len(forms) > 0 {
			given, version = rapid.SampledFrom(forms).Draw(t, "form"), 1
		}
		var value any
		decoder := json.NewDecoder(strings.NewReader(string(given)))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 3).Draw(t, "times") {
			value = catalogtest.Spoilt(t, value)
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		byCatalogue, bySchema := payload.Check(c, event.Name.V, version, text), payload.Check(stored, event.Name.V, version, text)
		if fmt.Sprint(byCatalogue) != fmt.Sprint(bySchema) {
			t.Fatalf("%s %s\ncatalogue: %v\nschema:    %v\n%s", event.Name.V, text, byCatalogue, bySchema, schema.Of(event))
		}
		if bySchema == nil {
			accepted++
		} else {
			refused++
		}
	})
	if accepted == 0 || refused == 0 {
		t.Errorf("accepted %d and refused %d payloads", accepted, refused)
	}
}

func TestTheSchemaOfAnEventIsWholeWithoutImportsAndPackages(t *testing.T) {
	files := parse.Memory{Text: map[string][]byte{
		"shared/events.yaml": []byte("version: 1\npackage: shared\nimport_path: example.org/shared\nimports: { base: ../base/events.yaml }\ntypes:\n  Money: { fields: { amount: int64, currency: base.Currency } }\nevents: {}\n"),
		"base/events.yaml":   []byte("version: 1\npackage: base\nimport_path: example.org/base\ntypes:\n  Currency: { enum: [EUR, USD] }\nevents: {}\n"),
	}}
	c, findings := parse.TextWith(files, "events.yaml", []byte("version: 1\npackage: shop\nimports: { shared: shared/events.yaml }\nevents: { order.placed: { payload: { total: \"[]shared.Money\" } } }\n"))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	stored, err := schema.Read("events.yaml", schema.Of(c.Events[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, given := range []string{`{"total":[{"amount":1,"currency":"EUR"}]}`, `{"total":[{"amount":1,"currency":"CHF"}]}`, `{}`} {
		if got, want := fmt.Sprint(payload.Check(stored, "order.placed", 1, []byte(given))), fmt.Sprint(payload.Check(c, "order.placed", 1, []byte(given))); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}

func TestASchemaWithUnknownPartsIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{`: "the schema is not JSON",
		`{"event":"a.b","version":1,"payload":{},"since":1}`:                                                              `unknown field "since"`,
		`{"event":"a.b","version":1,"payload":{"n":{"type":"int","multiple_of":2}}}`:                                      `unknown field "multiple_of"`,
		`{"event":"a.b","version":1,"payload":{"n":"int128"}}`:                                                            `there is no type "int128"`,
		`{"event":"a.b","version":1,"payload":{"n":{}}}`:                                                                  `there is no type ""`,
		`{"event":"a.b","version":1,"payload":{"n":"T"},"types":{"T":{"range":[1,2]}}}`:                                   `unknown field "range"`,
		`{"event":"a.b","version":1,"payload":[]}`:                                                                        "want an object, got []",
		`{"event":"a.b","version":1,"payload":{"u":"U"},"types":{"U":{"discriminator":"k","one_of":{"a":{"type":"X"}}}}}`: `there is no type "X"`,
	} {
		if _, err := schema.Read("the schema", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
