package templates

import (
	"fmt"
	"strings"
	"testing"
)

func TestAPayloadIsAStructInCatalogueOrder(t *testing.T) {
	c := parsed(t, `
types:
  Money:
    doc: Money is an amount in cents.
    fields: { amount: int64 }
events:
  order.placed:
    doc: A customer placed an order.
    payload:
      total: Money
      order_id: { type: uuid, doc: Identifies the order. }
      note: string?
      tags: "[]string?"
`)
	emits(t, "// OrderPlaced is the payload of order.placed.\n"+
		"//\n"+
		"// A customer placed an order.\n"+
		"type OrderPlaced struct {\n"+
		"	Total Money `json:\"total\"`\n"+
		"	// Identifies the order.\n"+
		"	OrderID uuid.UUID `json:\"order_id\"`\n"+
		"	Note    *string   `json:\"note,omitempty\"`\n"+
		"	Tags    []string  `json:\"tags,omitzero\"`\n"+
		"}", eventPayload(c.Events[0]))
	emits(t, "// Money is an amount in cents.\n"+
		"type Money struct {\n"+
		"	Amount int64 `json:\"amount\"`\n"+
		"}", structType(c.Types[0]))
}

// The tag "-" alone would leave out the field.
func TestAFieldHasTheTagOfItsNameInJSON(t *testing.T) {
	c := parsed(t, `
json_names: pascal
types:
  Part: { fields: { no_dash: { type: "int?", json: "-" } } }
events:
  order.placed:
    payload:
      order_id: int
      dash: { type: int, json: "-" }
      odd: { type: int, json: "<größe> & x.y" }
`)
	emits(t, "// OrderPlaced is the payload of order.placed.\n"+
		"type OrderPlaced struct {\n"+
		"	OrderID int `json:\"OrderId\"`\n"+
		"	Dash    int `json:\"-,\"`\n"+
		"	Odd     int `json:\"<größe> & x.y\"`\n"+
		"}", eventPayload(c.Events[0]))
	emits(t, "// Part is a part of event payloads.\ntype Part struct {\n	NoDash *int `json:\"-,omitempty\"`\n}", structType(c.Types[0]))
	shape := eventShape(c.Events[0])
	if got, want := fmt.Sprintf("%#v", readField(shape.receiver, shape.fields[2])), `r.IntField("\\u003cgröße\\u003e \\u0026 x.y", &p.Odd)`; !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
}

func TestATypeWithoutADocStillHasAComment(t *testing.T) {
	c := parsed(t, `
types:
  Money: { fields: { amount: int64 } }
  Size: { enum: [S] }
events:
  ping: {}
`)
	emits(t, "// Money is a part of event payloads.\n"+
		"type Money struct {\n"+
		"	Amount int64 `json:\"amount\"`\n"+
		"}", structType(c.Types[0]))
	emits(t, "// Size is one of a fixed set of strings.\ntype Size string", enumType(c.Types[1]))
}

func TestAnEnumIsAStringWithTypedConstants(t *testing.T) {
	c := parsed(t, `
types:
  Weekday:
    enum: [mon, tue, wed, thu, fri, sat, sun]
events:
  ping: {}
`)
	emits(t, `
// The values of Weekday.
const (
	WeekdayMon Weekday = "mon"
	WeekdayTue Weekday = "tue"
	WeekdayWed Weekday = "wed"
	WeekdayThu Weekday = "thu"
	WeekdayFri Weekday = "fri"
	WeekdaySat Weekday = "sat"
	WeekdaySun Weekday = "sun"
)

// Valid reports whether v is one of the values of Weekday. It is compiled once:
// inlined, its comparisons of texts would stand in each caller.
//
//go:noinline
func (v Weekday) Valid() bool {
	switch v {
	case WeekdayMon, WeekdayTue, WeekdayWed, WeekdayThu, WeekdayFri, WeekdaySat,
		WeekdaySun:
		return true
	}
	return false
}

// Validate returns nil if v is one of the values of Weekday.
func (v Weekday) Validate() error {
	if v.Valid() {
		return nil
	}
	return checks.NotInEnum(string(v), "mon", "tue", "wed", "thu", "fri",
		"sat", "sun")
}
`, enumConstants(c.Types[0]), validEnum(c.Types[0]), validateEnum(c.Types[0]))
}

func TestANamespaceIsASealedInterfaceInsideTheOneAroundIt(t *testing.T) {
	c := parsed(t, `
events:
  ml.run.started: {}
  ml.saved: {}
`)
	emits(t, `
// AnyEvent is the payload of any event of this catalogue. No other type
// implements it, so a type switch over the payloads can be complete.
type AnyEvent interface {
	runtime.Payload
	isAnyEvent()
}

// MLEvent is the payload of an event of ml.*: MLRunStarted or MLSaved.
type MLEvent interface {
	AnyEvent
	isMLEvent()
}

func (MLRunStarted) isMLEvent() {}
func (MLSaved) isMLEvent()      {}

// MLRunEvent is the payload of an event of ml.run.*: MLRunStarted.
type MLRunEvent interface {
	MLEvent
	isMLRunEvent()
}
`, anyEvent(c), namespaceInterface(c, c.Namespaces[0]), markers("isMLEvent", c.Namespaces[0].Events),
		namespaceInterface(c, c.Namespaces[1]))
}
