package export_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/export"
	"github.com/busgen/busgen/internal/payload"
)

func TestAnExportedSchemaIsOneOfTheStandardAndTakesTheExamples(t *testing.T) {
	short.Visit(t, "it exports many documents")
	metaschema := schemaIn(t, []byte(`{"$ref": "https://json-schema.org/draft/2020-12/schema"}`), "")
	for path, c := range catalogues(t) {
		t.Run(path, func(t *testing.T) {
			document, err := export.JSONSchema(c)
			if err != nil {
				t.Fatal(err)
			}
			if err := metaschema.Validate(unmarshal(t, document)); err != nil {
				t.Error(err)
			}
			for _, e := range c.Events {
				inAll := schemaIn(t, document, "/$defs/"+pointed(e.Name.V))
				own, err := export.EventSchema(e)
				if err != nil {
					t.Fatal(err)
				}
				alone := schemaIn(t, own, "")
				for _, given := range examples(e) {
					for _, err := range []error{inAll.Validate(unmarshal(t, given)), alone.Validate(unmarshal(t, given))} {
						if err != nil {
							t.Errorf("%s does not take its example %s: %v", e.Name.V, given, err)
						}
					}
				}
			}
		})
	}
}

func examples(e *catalog.Event) [][]byte {
	all := [][]byte{e.Sample()}
	for _, example := range e.Examples {
		all = append(all, example.JSON)
	}
	return all
}

const shop = `version: 1
package: shop
types:
  Currency: { doc: Currency is an ISO 4217 code., enum: [EUR, USD] }
  Money: { fields: { amount: int64, currency: Currency } }
  Tree: { fields: { name: string, children: "[]Tree" } }
  OrderID: { doc: OrderID numbers the orders., type: uuid }
  Sku: { type: string, min_length: 3 }
events:
  order.placed:
    doc: A customer placed an order <before> paying & waiting.
    payload:
      order_id: OrderID
      total: { type: "Money?", doc: The sum. }
      note: string?
      articles: "[]Sku?"
  user.left: {}
`

func TestAnExportedSchemaReadsLikeTheCatalogue(t *testing.T) {
	document, err := export.JSONSchema(parsed(t, shop))
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "shop",
  "description": "The payload of an event is described by $defs under its name, as in #/$defs/order.placed.",
  "$defs": {
    "order.placed": {
      "title": "OrderPlaced",
      "description": "A customer placed an order <before> paying & waiting.",
      "type": "object",
      "properties": {
        "order_id": {
          "$ref": "#/$defs/OrderID"
        },
        "total": {
          "anyOf": [
            {
              "$ref": "#/$defs/Money"
            },
            {
              "type": "null"
            }
          ],
          "description": "The sum."
        },
        "note": {
          "type": [
            "string",
            "null"
          ]
        },
        "articles": {
          "type": [
            "array",
            "null"
          ],
          "items": {
            "$ref": "#/$defs/Sku"
          }
        }
      },
      "required": [
        "order_id"
      ]
    },
    "user.left": {
      "title": "UserLeft",
      "type": "object",
      "properties": {}
    },
    "Currency": {
      "type": "string",
      "enum": [
        "EUR",
        "USD"
      ],
      "description": "Currency is an ISO 4217 code."
    },
    "Money": {
      "type": "object",
      "properties": {
        "amount": {
          "type": "integer",
          "format": "int64"
        },
        "currency": {
          "$ref": "#/$defs/Currency"
        }
      },
      "required": [
        "amount",
        "currency"
      ]
    },
    "Tree": {
      "type": "object",
      "properties": {
        "name": {
          "type": "string"
        },
        "children": {
          "type": [
            "array",
            "null"
          ],
          "items": {
            "$ref": "#/$defs/Tree"
          }
        }
      },
      "required": [
        "name",
        "children"
      ]
    },
    "OrderID": {
      "type": "string",
      "format": "uuid",
      "description": "OrderID numbers the orders."
    },
    "Sku": {
      "type": "string",
      "minLength": 3
    }
  }
}
`
	if diff := cmp.Diff(want, string(document)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheSchemaOfOneEventHasTheTypesThatItNeeds(t *testing.T) {
	document, err := export.EventSchema(parsed(t, shop).Events[0])
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(document, &got); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(got.Defs))
	if diff := cmp.Diff([]string{"Currency", "Money", "OrderID", "Sku"}, names); diff != "" {
		t.Errorf("$defs (-want +got):\n%s", diff)
	}
}

// everyKind has a field of each kind, required and optional, nested and not.
const everyKind = `version: 1
package: p
types:
  Size: { enum: [small, large] }
  Level: { enum: { low: 1, high: { number: -2, doc: Not low. } } }
  Box: { fields: { size: Size, label: "string?", inner: "Box?" } }
  Shape: { discriminator: kind, one_of: { box: Box, ball: { fields: { radius: int } } } }
  Addr: { go: { import: net/netip, type: Addr }, type: string }
  OrderID: uuid
  Short: { type: string, min_length: 2, max_length: 3 }
events:
  e.sent:
    payload:
      c0: { type: int, min: 1, max: 10 }
      c1: { type: string, min_length: 2, max_length: 3 }
      c2: { type: string, pattern: "^a|z$" }
      c3: { type: "[]int", min_items: 1, max_items: 2, unique: true }
      c4: { type: "map[string]int?", max_items: 1 }
      c5: { type: string, format: ipv4 }
      c6: { type: float64, max: 0.5 }
      c7: { type: string, format: ip }
      c8: Short
      c9: "map[string]Short?"
      n_short: Short|null
      n_min: { type: int|null, min: 1 }
      n_items: { type: "[]int|null", min_items: 1, max_items: 2, unique: true }
      n_text: { type: string|null, format: ip, min_length: 2 }
KINDS
`

// TestASchemaAndTheCatalogueAgreeOnPayloads compares the answers about payloads
// that are nearly right. A schema cannot tell how a number is written, and does
// not mind fields that it does not know; such payloads are not drawn.
func TestASchemaAndTheCatalogueAgreeOnPayloads(t *testing.T) {
	var fields strings.Builder
	for i, kind := range []string{"string", "bool", "int", "int32", "int64", "uint64", "float64", "bytes", "time", "date", "duration", "uuid", "json", "decimal", "Size", "Level", "Box", "Shape", "Addr", "OrderID", "[]OrderID", "[]int", "map[string]Box", "[][]Size"} {
		fmt.Fprintf(&fields, "      f%d: %q\n      o%d: %q\n", i, kind, i, kind+"?")
		if kind != "json" {
			fmt.Fprintf(&fields, "      n%d: %q\n", i, kind+"|null")
		}
	}
	c := parsed(t, strings.Replace(everyKind, "KINDS\n", fields.String(), 1))
	document, err := export.JSONSchema(c)
	if err != nil {
		t.Fatal(err)
	}
	schema := schemaIn(t, document, "/$defs/e.sent")
	answers := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		drawn := payloads{t, rapid.SampledFrom([]int{0, 20, 200}).Draw(t, "one in so many is wrong")}
		given := drawn.object(c.Events[0].Fields, 0)
		ofSchema, ofCatalogue := schema.Validate(unmarshal(t, []byte(given))), payload.Check(c, "e.sent", 1, []byte(given))
		if (ofSchema == nil) != (ofCatalogue == nil) {
			t.Fatalf("the schema says %v, the catalogue %v of\n%s", ofSchema, ofCatalogue, given)
		}
		answers[ofCatalogue == nil]++
	})
	if answers[true] == 0 || answers[false] == 0 {
		t.Errorf("answers: %v", answers)
	}
}

// payloads draws JSON that fits, but for one value in so many.
type payloads struct {
	*rapid.T
	wrong int // 0 for never
}

func (p payloads) astray() bool {
	return p.wrong > 0 && rapid.IntRange(1, p.wrong).Draw(p.T, "astray") == 1
}

func (p payloads) object(fields []*catalog.Field, depth int) string {
	var members []string
	for _, f := range fields {
		absent := f.Type.Optional && (depth > 2 || rapid.Bool().Draw(p.T, "absent"))
		if absent != p.astray() {
			continue
		}
		members = append(members, fmt.Sprintf("%q:%s", f.Name.V, p.value(f, depth)))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (p payloads) value(f *catalog.Field, depth int) string {
	t := f.Type
	if p.astray() {
		return rapid.SampledFrom([]string{`"text"`, `true`, `7`, `-1`, `0.5`, `[]`, `{}`, `null`, `"2024-02-30"`, `3000000000`}).Draw(p.T, "odd")
	}
	if good := withinBounds[f.Name.V]; good != nil {
		if p.wrong > 0 && rapid.IntRange(0, 9).Draw(p.T, "bound") == 0 {
			good = nearBounds
		}
		return rapid.SampledFrom(good).Draw(p.T, "within bounds")
	}
	if t.Nullable && (depth > 2 || rapid.Bool().Draw(p.T, "null")) {
		return "null"
	}
	return p.plain(t, depth)
}

// withinBounds are values that the constraints of the fields of that name take.
var withinBounds = map[string][]string{
	"c0": {"1", "10"}, "c1": {`"ab"`, `"äöü"`}, "c2": {`"apple"`, `"jazz"`}, "c3": {"[1]", "[1,2]"}, "c4": {"{}", `{"a":1}`, "null"},
	"n_min": {"1", "null"}, "n_items": {"[1]", "null"}, "n_text": {`"::1"`, "null"},
	"c5": {`"127.0.0.1"`}, "c6": {"0.5", "-7"}, "c7": {`"127.0.0.1"`, `"::1"`},
	"c8": {`"ab"`}, "c9": {`{"a":"ab"}`, "null"}, "n_short": {`"äöü"`, "null"},
}

// nearBounds are values of which each constraint takes some and refuses others.
var nearBounds = []string{
	"0", "1", "10", "11", "0.5", "0.51", `""`, `"ab"`, `"äöü"`, `"äöüß"`, `"apple"`, `"jazz"`, `"plum"`, "[]", "[1]", "[1,2]", "[1,1]", "[1,2,3]",
	"{}", `{"a":1}`, `{"a":"äöüß"}`, `{"a":1,"b":2}`, `"127.0.0.1"`, `"::1"`, `"127.0.0.256"`, "null",
}

func (p payloads) element(t *catalog.TypeRef, depth int) string {
	return p.value(&catalog.Field{Type: t}, depth)
}

func (p payloads) plain(t *catalog.TypeRef, depth int) string {
	one := func(texts ...string) string { return rapid.SampledFrom(texts).Draw(p.T, "value") }
	switch t.Kind {
	case catalog.Bool:
		return one("true", "false")
	case catalog.Int, catalog.Int64:
		return one("0", "-9007199254740993", "9223372036854775807")
	case catalog.Int32:
		return one("0", "-2147483648", "2147483647")
	case catalog.Uint64:
		return one("0", "9223372036854775807", "18446744073709551615")
	case catalog.Float64:
		return one("0", "0.25", "-1e300", "12")
	case catalog.Bytes:
		return one(`""`, `"AAH/"`, "null")
	case catalog.Time:
		return one(`"2024-02-29T12:30:00.5Z"`, `"1999-12-31T23:59:59+02:00"`)
	case catalog.Date:
		return one(`"2024-02-29"`)
	case catalog.Duration:
		return one(`"1h30m0s"`, `"-1.5ms"`, `"0"`, `"0s"`, `"3µs"`)
	case catalog.UUID:
		return one(`"018f4f2e-0000-7000-8000-000000000001"`)
	case catalog.JSON:
		return one(`{"any":[1]}`, "null", `"text"`)
	case catalog.List:
		return one("null", "[]", "["+p.element(t.Elem, depth+1)+"]", "["+p.element(t.Elem, depth+1)+","+p.element(t.Elem, depth+1)+"]")
	case catalog.Map:
		return one("null", "{}", `{"a":`+p.element(t.Elem, depth+1)+"}")
	case catalog.Named:
		switch {
		case t.Named.Integer:
			return one("1", "-2")
		case t.Named.IsEnum():
			return one(`"` + t.Named.Values[0].Name.V + `"`)
		case t.Named.IsCustom():
			return one(`"127.0.0.1"`)
		case t.Named.IsUnion():
			return p.union(t.Named, depth+1)
		}
		return p.object(t.Named.Fields, depth+1)
	case catalog.Decimal:
		return one(`"0"`, `"-12.50"`, `"100000000000000000000.1"`)
	}
	return one(`""`, `"a text"`, `"☃"`)
}

// union draws a variant, with the discriminator as a field in front.
func (p payloads) union(t *catalog.Type, depth int) string {
	v := rapid.SampledFrom(t.Variants).Draw(p.T, "variant")
	kind := strconv.Quote(v.Name.V)
	if p.astray() {
		kind = rapid.SampledFrom([]string{`"cone"`, "1", "null"}).Draw(p.T, "odd kind")
	}
	object := p.object(v.Type.Fields, depth)
	if object == "{}" {
		return "{" + strconv.Quote(t.Discriminator.V) + ":" + kind + "}"
	}
	return "{" + strconv.Quote(t.Discriminator.V) + ":" + kind + "," + object[1:]
}
