package export_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/export"
)

func TestSchemasHaveTheNamesThatTheCatalogueGivesThem(t *testing.T) {
	for name, test := range map[string]struct {
		source string
		want   []string // the schemas
		refs   map[string]string
	}{
		"of types": {
			"types: { Line: { schema: order_line, fields: { n: int } }, Sku: { schema: sku, type: string }, Plain: string }\nevents: { a.b: { payload: { l: Line, s: Sku, p: Plain } } }",
			[]string{"Plain", "order_line", "sku"}, map[string]string{"a.b": ""},
		},
		"of payloads": {
			"events: { a.b: { schema: ABPayload, payload: { x: int } }, c.d: { payload: { x: int } } }",
			[]string{"ABPayload"}, map[string]string{"a.b": "#/components/schemas/ABPayload", "c.d": ""},
		},
		"of payloads with the same fields": {
			"events: { a.b: { schema: P, doc: A b happened., payload: { x: int } }, c.d: { schema: P, payload: { x: int } } }",
			[]string{"P"}, map[string]string{"a.b": "#/components/schemas/P", "c.d": "#/components/schemas/P"},
		},
		"but not of payloads with other fields than the first": {
			"events: { a.b: { schema: P, payload: { x: int } }, c.d: { schema: P, payload: { x: string } } }",
			[]string{"P"}, map[string]string{"a.b": "#/components/schemas/P", "c.d": ""},
		},
		"of a payload and of a type with the same fields": {
			"types: { Line: { fields: { n: int } } }\nevents: { a.b: { schema: Line, payload: { n: int } }, c.d: { payload: { l: Line } } }",
			[]string{"Line"}, map[string]string{"a.b": "#/components/schemas/Line", "c.d": ""},
		},
		"but not if another type is called so": {
			"types: { Line: { fields: { n: int } }, Other: { schema: Line, fields: { n: string } }, Third: { schema: Line, type: string } }\nevents: { a.b: { payload: { l: Line, o: Other, t: Third } } }",
			[]string{"Line", "Other", "Third"}, map[string]string{"a.b": ""},
		},
		"and that of a type which says another one is free": {
			"types: { Line: { schema: line, fields: { n: int } }, Other: { schema: Line, fields: { n: string } } }\nevents: { a.b: { payload: { l: Line, o: Other } } }",
			[]string{"Line", "line"}, map[string]string{"a.b": ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, findings := parse.Text("events.yaml", []byte("version: 1\npackage: events\n"+test.source+"\n"))
			if findings != nil {
				t.Fatal(findings)
			}
			document, err := export.AsyncAPI(c, export.Info{Version: "1"})
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Components struct {
					Schemas  map[string]any
					Messages map[string]struct {
						Payload struct {
							Ref string `json:"$ref"`
						}
					}
				}
			}
			if err := json.Unmarshal(document, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, slices.Sorted(maps.Keys(got.Components.Schemas))); diff != "" {
				t.Errorf("the schemas (-want +got):\n%s\n%s", diff, document)
			}
			refs := map[string]string{}
			for event, m := range got.Components.Messages {
				refs[event] = m.Payload.Ref
			}
			if diff := cmp.Diff(test.refs, refs); diff != "" {
				t.Errorf("the payloads (-want +got):\n%s\n%s", diff, document)
			}
			if _, err := export.JSONSchema(c); err != nil {
				t.Error(err)
			}
		})
	}
}
