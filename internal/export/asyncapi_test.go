package export_test

import (
	"encoding/json"
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/busgen/busgen/internal/export"
)

var official = flag.String("asyncapi", "", "the official schema of AsyncAPI 3.0.0, a `file`, to validate with as well")

var info = export.Info{Version: "1.2.0"}

// The schema in testdata has what matters of the official one, which is published
// as schemas/3.0.0-without-$id.json by asyncapi/spec-json-schemas. To use that too:
//
//	go test ./internal/export -asyncapi 3.0.0-without-\$id.json
func TestAnExportedDocumentIsAsyncAPI(t *testing.T) {
	schemas := []*jsonschema.Schema{schemaFile(t, "testdata/asyncapi-essentials.json")}
	if *official != "" {
		schemas = append(schemas, schemaFile(t, *official))
	}
	for path, c := range catalogues(t) {
		t.Run(path, func(t *testing.T) {
			document, err := export.AsyncAPI(c, info)
			if err != nil {
				t.Fatal(err)
			}
			for _, schema := range schemas {
				if err := schema.Validate(unmarshal(t, document)); err != nil {
					t.Error(err)
				}
			}
			everyReferenceLeadsSomewhere(t, document)
			for _, e := range c.Events {
				payload := schemaIn(t, document, "/components/messages/"+pointed(e.Label())+"/payload")
				for _, example := range examples(e) {
					if err := payload.Validate(unmarshal(t, example)); err != nil {
						t.Errorf("%s does not take its example %s: %v", e.Name.V, example, err)
					}
				}
			}
		})
	}
}

func everyReferenceLeadsSomewhere(t *testing.T, document []byte) {
	t.Helper()
	var root any
	if err := json.Unmarshal(document, &root); err != nil {
		t.Fatal(err)
	}
	var visit func(value any)
	visit = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, one := range value {
				visit(one)
			}
		case map[string]any:
			if to, ok := value["$ref"].(string); ok && at(root, to) == nil {
				t.Errorf("%s leads nowhere", to)
			}
			for _, one := range value {
				visit(one)
			}
		}
	}
	visit(root)
}

func at(value any, pointer string) any {
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "#/"), "/") {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

func TestAnExportedDocumentSaysWhoSendsAndWhoReceives(t *testing.T) {
	document, err := export.AsyncAPI(parsed(t, `version: 1
package: shop
types: { Size: { enum: [small] } }
events:
  order.placed:
    doc: A customer placed an order.
    partition_by: order_id
    dedupe_by: order_id
    await_by: order_id
    payload: { order_id: uuid, size: { type: Size, doc: How big. } }
    subscriptions: { charge-card: { doc: Takes the money., timeout: 7s, batch: { size: 25 } } }
  shop.closed: {}
  shop.left: { wire: Shop/Left }
schedules:
  closing-time: { doc: The doors are locked., event: shop.closed, cron: "0 20 * * *", time_zone: Europe/Berlin, missed: skip }
  often: { event: shop.closed, every: 1h }
`), export.Info{Title: "The shop", Version: "3"})
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(document, &got); err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]any{
		"#/info":                          map[string]any{"title": "The shop", "version": "3"},
		"#/channels/order.placed/address": "order.placed",
		"#/operations/publish.order.placed": map[string]any{
			"action": "send", "channel": map[string]any{"$ref": "#/channels/order.placed"}, "description": "A customer placed an order.",
			"messages": []any{map[string]any{"$ref": "#/channels/order.placed/messages/order.placed"}},
		},
		"#/operations/handle.charge-card/action":                       "receive",
		"#/operations/handle.charge-card/description":                  "Takes the money.",
		"#/operations/handle.charge-card/x-busgen/settings/timeout":    "7s",
		"#/operations/handle.charge-card/x-busgen/settings/batch.size": 25.0,
		"#/components/messages/shop.closed/x-busgen/schedules": []any{
			map[string]any{"name": "closing-time", "doc": "The doors are locked.", "cron": "0 20 * * *", "time_zone": "Europe/Berlin", "missed": "skip", "payload": map[string]any{}},
			map[string]any{"name": "often", "every": "1h", "missed": "once", "payload": map[string]any{}},
		},
		"#/channels/shop.left/address":                                            "Shop/Left",
		"#/components/messages/shop.left/name":                                    "Shop/Left",
		"#/components/messages/order.placed/x-busgen/partition_by":                "order_id",
		"#/components/messages/order.placed/x-busgen/dedupe_by":                   "order_id",
		"#/components/messages/order.placed/x-busgen/await_by":                    "order_id",
		"#/components/messages/order.placed/x-busgen/settings/retry.max_attempts": 4.0,
		// Draft 07 ignores what is beside a $ref.
		"#/components/messages/order.placed/payload/properties/size": map[string]any{
			"allOf": []any{map[string]any{"$ref": "#/components/schemas/Size"}}, "description": "How big.",
		},
	} {
		if diff := cmp.Diff(want, at(got, pointer)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pointer, diff)
		}
	}
}
