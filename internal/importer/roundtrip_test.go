package importer_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/export"
	"github.com/busgen/busgen/internal/importer"
	"github.com/busgen/busgen/internal/plainjson"
)

// catalogues are all in the repository that have no findings, by their path.
func catalogues(t testing.TB) map[string]*catalog.Catalogue {
	t.Helper()
	all := map[string]*catalog.Catalogue{}
	for _, pattern := range []string{"../../examples/*.yaml", "../../bench/*.yaml", "../../templates/testdata/*.yaml", "../../templates/starter/*.yaml", "../catalog/parse/testdata/cases/*/events.yaml", "testdata/exported/events.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			c, findings, err := parse.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case findings == nil:
				all[path] = c
			case strings.HasPrefix(path, "testdata"):
				t.Fatal(findings)
			}
		}
	}
	if len(all) < 20 {
		t.Fatalf("found %d catalogues only", len(all))
	}
	return all
}

// What is exported and imported again exports the same.
func TestAnExportedDocumentIsImportedAgain(t *testing.T) {
	short.Visit(t, "it imports many documents")
	forms := map[string]func(*catalog.Catalogue) ([]byte, error){
		"jsonschema": export.JSONSchema,
		"asyncapi":   func(c *catalog.Catalogue) ([]byte, error) { return export.AsyncAPI(c, export.Info{Version: "1"}) },
	}
	for path, c := range catalogues(t) {
		if len(c.Events) == 0 {
			continue // no schema says that nothing in it is an event
		}
		for name, exported := range forms {
			t.Run(name+" "+path, func(t *testing.T) {
				document, err := exported(c)
				if err != nil {
					t.Fatal(err)
				}
				imported := importer.Import("export.json", document, importer.Options{Package: c.Package.V})
				for _, f := range imported.Findings {
					if f.Severity > diag.Note {
						t.Errorf("%s", f)
					}
				}
				again, findings := parse.Text("events.yaml", imported.Catalogue)
				if findings != nil {
					t.Fatalf("%v\n%s", findings, imported.Catalogue)
				}
				second, err := exported(again)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(document), string(second)); diff != "" {
					t.Errorf("(-first +second):\n%s\n%s", diff, imported.Catalogue)
				}
			})
		}
	}
}

// A schedule that does not fit is left out, and the rest is imported.
func TestAScheduleThatDoesNotFitIsLeftOut(t *testing.T) {
	c, findings := parse.Text("events.yaml", []byte(`version: 1
package: events
events:
  report.requested: { payload: { kind: string } }
schedules:
  nightly: { event: report.requested, cron: "0 3 * * *", payload: { kind: day } }
  weekly: { event: report.requested, cron: "0 4 * * 1", payload: { kind: week } }
`))
	if findings != nil {
		t.Fatal(findings)
	}
	document, err := export.AsyncAPI(c, export.Info{Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	for old, replacement := range map[string]string{
		`"0 3 * * *"`:       `"0 99 * * *"`,
		`"kind": "day"`:     `"sort": "day"`,
		`"name": "nightly"`: `"name": ""`,
		`"nightly"`:         `"Not A Name"`,
	} {
		changed := strings.Replace(string(document), old, replacement, 1)
		if changed == string(document) {
			t.Fatalf("%s is not in\n%s", old, document)
		}
		result := importer.Import("export.json", []byte(changed), importer.Options{Package: "events"})
		requireLoads(t, result)
		if text := string(result.Catalogue); !strings.Contains(text, "weekly:") || strings.Contains(text, "nightly") || len(others(result)) != 1 ||
			!strings.HasSuffix(others(result)[0].Message, "is left out") {
			t.Errorf("%s: %v\n%s", replacement, result.Findings, text)
		}
	}
	twice := strings.Replace(string(document), `"weekly"`, `"nightly"`, 1)
	result := importer.Import("export.json", []byte(twice), importer.Options{Package: "events"})
	requireLoads(t, result)
	if text := string(result.Catalogue); strings.Count(text, "nightly") != 1 || len(result.Findings) == 0 {
		t.Errorf("of a name that is there twice: %v\n%s", result.Findings, text)
	}
}

// The names in the JSON of a document are those of the catalogue, and of the document that is exported from it.
func TestEveryNameOfADocumentComesBack(t *testing.T) {
	names := []string{"orderId", "CustomerID", "order-no", "a.b", "with blank", "größe", "日本", "@type", "$ref", "_id", "x:y", "<b>", "2nd", "-", "+1", "URL", "a[0]", "{x}", "#", "%", "*", "~", "null", "yes", "key: value", "if"}
	var source, want strings.Builder
	source.WriteString(`{"title": "order.placed", "type": "object", "properties": {`)
	for i, name := range names {
		if i > 0 {
			source.WriteString(",")
		}
		fmt.Fprintf(&source, `%q: {"type": "string"}`, name)
		fmt.Fprintln(&want, name)
	}
	source.WriteString("}}")
	document := strings.Replace(source.String(), `"order-no": {"type": "string"}`, `"order-no": {"type": "object", "properties": {"inPlace": {"type": "string"}}}`, 1)
	result := importer.Import("order.json", []byte(document), importer.Options{})
	if len(others(result)) > 0 {
		t.Fatal(others(result))
	}
	c, findings := parse.Text("events.yaml", result.Catalogue)
	if findings != nil {
		t.Fatalf("%v\n%s", findings, result.Catalogue)
	}
	var got strings.Builder
	for _, f := range c.Events[0].Fields {
		fmt.Fprintln(&got, f.Name.V)
	}
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, result.Catalogue)
	}
	exported, err := export.JSONSchema(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, "inPlace") {
		if !strings.Contains(string(exported), string(plainjson.Quote(name))+": {") {
			t.Errorf("%s is not in what is exported:\n%s", name, exported)
		}
	}
}

// The names of schemas are those of types in the catalogue, or beside them, and of schemas in the document that is exported
// from it: also those of scalars, of payloads, and those that no Go type has.
func TestEveryNameOfASchemaComesBack(t *testing.T) {
	const document = `{"asyncapi":"3.0.0","channels":{"a":{"messages":{"placed":{"payload":{"type":"object","properties":{
		"id":{"$ref":"#/components/schemas/OrderId"},"line":{"$ref":"#/components/schemas/Line"},"mail":{"$ref":"#/components/schemas/email-address"}}}},
		"paid":{"payload":{"$ref":"#/components/schemas/orderPaid.v1"}},"refunded":{"title":"Refunded","payload":{"$ref":"#/components/schemas/orderPaid.v1"}},
		"closed":{"payload":{"$ref":"#/components/schemas/Closed"}}}}},"components":{"schemas":{
		"orderPaid.v1":{"type":"object","properties":{"order":{"$ref":"#/components/schemas/OrderId"},"of":{"$ref":"#/components/schemas/big_line"}},"required":["order","of"]},
		"Closed":{"type":"object","properties":{"again":{"type":"string"}},"required":["again"]},
		"email-address":{"type":"string","format":"email"},
		"big_line":{"type":"object","properties":{"lines":{"type":"integer","format":"int64"}},"required":["lines"]},
		"OrderId":{"type":"string","format":"uuid"},
		"Sku":{"type":"string","description":"What is on the shelf.","minLength":2,"maxLength":9,"pattern":"^[a-z]+$"},
		"Number":{"type":"integer","format":"int32","minimum":1,"maximum":9},
		"Share":{"type":"number","format":"double","maximum":1},
		"Flag":{"type":"boolean"},
		"Day":{"type":"string","format":"date"},
		"Colour":{"type":"string","enum":["red","green"]},
		"Line":{"type":"object","properties":{"number":{"$ref":"#/components/schemas/Number"},"sku":{"$ref":"#/components/schemas/Sku"},"colour":{"$ref":"#/components/schemas/Colour"}},"required":["number","sku","colour"]}}}}`
	result := importer.Import("shop.json", []byte(document), importer.Options{})
	requireLoads(t, result)
	if len(others(result)) > 0 {
		t.Error(others(result))
	}
	c, findings := parse.Text("events.yaml", result.Catalogue)
	if findings != nil {
		t.Fatal(findings)
	}
	exported, err := export.AsyncAPI(c, export.Info{Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(schemasIn(t, []byte(document)), schemasIn(t, exported)); diff != "" {
		t.Errorf("(-document +export):\n%s\n%s", diff, result.Catalogue)
	}
}

// schemasIn are those under components of a document.
func schemasIn(t *testing.T, document []byte) map[string]any {
	t.Helper()
	var parts struct {
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(document, &parts); err != nil {
		t.Fatal(err)
	}
	return parts.Components.Schemas
}

// Keys of a document are paths of names in JSON.
func TestKeysAreImportedByTheirNamesInTheCatalogue(t *testing.T) {
	const source = `version: 1
package: events
json_names: camel
types:
  Who: { fields: { id_no: { type: string, json: No. } } }
limits:
  bank: { at_once: 4 }
events:
  order.placed:
    partition_by: order_id
    dedupe_by: the_key
    await_by: order_id
    limits: [{ limit: bank, by: sent_to.zip_code }]
    payload:
      order_id: string
      the_key: { type: string, json: KEY }
      who_did: Who
      sent_to: { fields: { zip_code: string } }
    subscriptions:
      pay: { limits: [{ limit: bank, by: who_did.id_no }] }
`
	c, findings := parse.Text("events.yaml", []byte(source))
	if findings != nil {
		t.Fatal(findings)
	}
	document, err := export.AsyncAPI(c, export.Info{Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	text := string(importer.Import("export.json", document, importer.Options{Package: "events"}).Catalogue)
	for _, want := range []string{"partition_by: order_id\n", "dedupe_by: key\n", "await_by: order_id\n", "by: sent_to.zip_code", "by: who_did.no ", `key: { type: string, json: KEY }`, "json_names: camel\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in:\n%s\n%s", want, text, document)
		}
	}
}
