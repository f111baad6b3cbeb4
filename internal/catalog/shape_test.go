package catalog_test

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalogtest"
)

func TestTheShapeOfAnEventDependsOnItsPayload(t *testing.T) {
	const body = `version: 1
package: events
types:
  Money: { fields: { amount: int64, currency: Currency } }
  Currency: { enum: [EUR, USD] }
  Tree: { fields: { children: "[]Tree", value: "map[string]Money?" } }
events:
  order.placed:
    partition_by: id
    dedupe_by: id
    await_by: id
    payload: { id: uuid, total: Money, tree: Tree }
`
	shape := func(source string) string { return catalogtest.Parsed(t, source).Events[0].Shape() }
	before := shape(body)
	for name, change := range map[string][2]string{
		"a setting":                {"partition_by", "timeout: 1s\n    partition_by"},
		"the doc of a field":       {"id: uuid", "id: { type: uuid, doc: Its id. }"},
		"the order of fields":      {"id: uuid, total: Money", "total: Money, id: uuid"},
		"the order of enum values": {"EUR, USD", "USD, EUR"},
		"the order of types":       {"amount: int64, currency: Currency", "currency: Currency, amount: int64"},
		"a reserved name":          {"    payload:", "    reserved: [sum]\n    payload:"},
		"a type of nobody":         {"types:", "types:\n  Other: { fields: {} }"},
	} {
		if got := shape(replaceOne(t, body, change)); got != before {
			t.Errorf("the shape changes with %s", name)
		}
	}
	seen := map[string]string{before: "nothing"}
	for name, change := range map[string][2]string{
		"a field more":               {"tree: Tree }", "tree: Tree, note: string }"},
		"a field less":               {", total: Money", ""},
		"a type":                     {"id: uuid", "id: string"},
		"an optional field":          {"total: Money", "total: \"Money?\""},
		"a field of a struct":        {"amount: int64", "amount: int32"},
		"a value of an enum":         {"EUR, USD", "EUR, JPY"},
		"a partition key":            {"    partition_by: id\n", ""},
		"a dedupe key":               {"    dedupe_by: id\n", ""},
		"an await key":               {"    await_by: id\n", ""},
		"a constraint":               {"id: uuid", "id: { type: uuid }, more: { type: int, min: 1 }"},
		"another constraint":         {"id: uuid", "id: { type: uuid }, more: { type: int, min: 2 }"},
		"no constraint":              {"id: uuid", "id: { type: uuid }, more: { type: int }"},
		"a default":                  {"id: uuid", "id: { type: uuid }, more: { type: \"int?\", default: 2 }"},
		"another default":            {"id: uuid", "id: { type: uuid }, more: { type: \"int?\", default: 3 }"},
		"a former name":              {"id: uuid", "id: { type: uuid, was: key }"},
		"another former name":        {"id: uuid", "id: { type: uuid, was: [key, number] }"},
		"a default that is required": {"id: uuid", "id: { type: uuid }, more: { type: int, default: 2 }"},
		"numbers of an enum":         {"enum: [EUR, USD]", "enum: { EUR: 1, USD: 2 }"},
		"other numbers":              {"enum: [EUR, USD]", "enum: { EUR: 1, USD: 3 }"},
		"a union":                    {"enum: [EUR, USD]", "one_of: { a: { fields: {} } }"},
		"another variant":            {"enum: [EUR, USD]", "one_of: { b: { fields: {} } }"},
		"another discriminator":      {"enum: [EUR, USD]", "one_of: { a: { fields: {} } }, discriminator: kind"},
		"a variant's field":          {"enum: [EUR, USD]", "one_of: { a: { fields: { x: int } } }"},
		"a custom type":              {"enum: [EUR, USD]", "type: string, go: { import: a/b, type: C }"},
		"another custom type":        {"enum: [EUR, USD]", "type: string, go: { import: a/b, type: D }"},
		"a name that fields get":     {"total: Money", "sum: Money"},
	} {
		got := shape(replaceOne(t, body, change))
		if other, same := seen[got]; same {
			t.Errorf("%s and %s give the same shape", name, other)
		}
		seen[got] = name
	}
}

func replaceOne(t *testing.T, text string, change [2]string) string {
	t.Helper()
	if strings.Count(text, change[0]) != 1 {
		t.Fatalf("%q is not there once", change[0])
	}
	return strings.Replace(text, change[0], change[1], 1)
}
