package templates

import (
	"testing"

	"github.com/dave/jennifer/jen"
)

// The runtime finds out by itself how most structs are written and read.
func TestAStructHasMethodsOnlyIfTheyKnowMoreThanItsFieldsSay(t *testing.T) {
	c := parsed(t, `
types:
  Money: { fields: { amount: int64 } }
  Tree: { fields: { label: string, children: "[]Tree" } }
events:
  order.placed: { payload: { order_id: uuid, note: "string?", total: Money, tree: Tree, days: "map[string][]date" } }
`)
	if code := codec(c); len(code) > 0 {
		t.Errorf("it has %#v", jen.Add(code...))
	}
}

func TestAPayloadIsWrittenAndReadFieldByField(t *testing.T) {
	c := parsed(t, `
types:
  Money: { fields: { amount: int64 } }
events:
  order.placed:
    payload: { order_id: uuid, note: "string?", total: Money, paid: "Money?", paid_at: "time?", tags: "[]string?", count: { type: int, default: 1 } }
`)
	emits(t, `
// WriteJSON writes p as encoding/json does. See [wire.Writer].
func (p OrderPlaced) WriteJSON(w *wire.Writer) {
	w.BeginObject()
	w.UUIDField("order_id", p.OrderID)
	wire.WriteOptionalField(w, "note", p.Note, w.String)
	w.Key("total")
	wire.WriteStruct(w, &p.Total)
	if p.Paid != nil {
		w.Key("paid")
		wire.WriteStruct(w, p.Paid)
	}
	wire.WriteOptionalField(w, "paid_at", p.PaidAt, w.Time)
	if p.Tags != nil {
		wire.WriteListField(w, "tags", p.Tags, w.String)
	}
	w.IntField("count", p.Count)
	w.EndObject()
}

// ReadJSON reads p as encoding/json does, or gives up. See [wire.Reader].
func (p *OrderPlaced) ReadJSON(r *wire.Reader) {
	r.BeginObject()
	r.UUIDField("order_id", &p.OrderID)
	wire.ReadOptionalField(r, "note", &p.Note, r.String)
	if r.Key("total") {
		wire.ReadStruct(r, &p.Total)
	}
	wire.ReadOptionalField(r, "paid", &p.Paid, func() (item Money) {
		wire.ReadStruct(r, &item)
		return item
	})
	wire.ReadOptionalField(r, "paid_at", &p.PaidAt, r.Time)
	wire.ReadListField(r, "tags", &p.Tags, r.String)
	if r.Key("count") {
		p.Count = r.Int()
	} else {
		p.Count = 1
	}
	r.EndObject()
}
`, codec(c)[:2]...)
}

// A value that contains itself would be written without an end.
func TestWritingAStructThatMayContainItselfStopsWhenItIsTooDeep(t *testing.T) {
	c := parsed(t, `
types:
  Tree: { fields: { label: { type: string, default: "" }, children: "[]Tree" } }
events:
  grown: { payload: { tree: Tree } }
`)
	emits(t, `
// WriteJSON writes v as encoding/json does. See [wire.Writer].
func (v Tree) WriteJSON(w *wire.Writer) {
	if !w.BeginObject() {
		return
	}
	w.StringField("label", v.Label)
	wire.WriteItemsField(w, "children", v.Children, Tree.WriteJSON)
	w.EndObject()
}
`, structCodec(typeShape(c.Types[0]))[0])
}

// The runtime writes its text without a method.
func TestAnEnumIsReadAsAText(t *testing.T) {
	c := parsed(t, `
types:
  Size: { enum: [S, M, L] }
events:
  ping: {}
`)
	emits(t, `
// ReadJSON reads v as encoding/json does, or gives up. See [wire.Reader].
func (v *Size) ReadJSON(r *wire.Reader) {
	r.Enum((*string)(v), "S", "M", "L")
}
`, readEnum(c.Types[0]))
}

func TestEveryTypeHasAWayToWriteAndReadIt(t *testing.T) {
	tests := []struct {
		name, field, write, read string
	}{
		{"text", `string`, `w.StringField("f", p.F)`, `r.StringField("f", &p.F)`},
		{"a number", `uint64`, `w.Uint64Field("f", p.F)`, `r.Uint64Field("f", &p.F)`},
		{"bytes, which need no pointer", `bytes?`, `if p.F != nil {
		w.BytesField("f", p.F)
	}`, `r.BytesField("f", &p.F)`},
		{"JSON, likewise", `json?`, `if p.F != nil {
		w.JSONField("f", p.F)
	}`, `r.JSONField("f", &p.F)`},
		{"an optional text", `string?`, `wire.WriteOptionalField(w, "f", p.F, w.String)`, `wire.ReadOptionalField(r, "f", &p.F, r.String)`},
		{"a decimal number", `decimal`, `w.StringField("f", string(p.F))`, `r.StringField("f", (*string)(&p.F))`},
		{"a day", `date`, `wire.WriteTextField(w, "f", p.F)`, `if r.Key("f") {
		r.Check(p.F.UnmarshalText(r.Text()))
	}`},
		{"an optional duration", `duration?`, `if p.F != nil {
		wire.WriteTextField(w, "f", *p.F)
	}`, `wire.ReadOptionalField(r, "f", &p.F, func() (item runtime.Duration) {
		r.Check(item.UnmarshalText(r.Text()))
		return item
	})`},
		{"a struct", `Named`, `w.Key("f")
	wire.WriteStruct(w, &p.F)`, `if r.Key("f") {
		wire.ReadStruct(r, &p.F)
	}`},
		{"an optional struct", `Named?`, `if p.F != nil {
		w.Key("f")
		wire.WriteStruct(w, p.F)
	}`, `wire.ReadOptionalField(r, "f", &p.F, func() (item Named) {
		wire.ReadStruct(r, &item)
		return item
	})`},
		{"a nullable struct", `Named|null`, `w.Key("f")
	if p.F != nil {
		wire.WriteStruct(w, p.F)
	} else {
		w.Null()
	}`, `wire.ReadOptionalField(r, "f", &p.F, func() (item Named) {
		wire.ReadStruct(r, &item)
		return item
	})`},
		{"a struct with methods", `Older`, `w.Key("f")
	p.F.WriteJSON(w)`, `if r.Key("f") {
		p.F.ReadJSON(r)
	}`},
		{"an optional struct with methods", `Older?`, `if p.F != nil {
		w.Key("f")
		p.F.WriteJSON(w)
	}`, `wire.ReadItemField(r, "f", &p.F, (*Older).ReadJSON)`},
		{"an enum", `Size`, `w.StringField("f", string(p.F))`, `if r.Key("f") {
		p.F.ReadJSON(r)
	}`},
		{"a list of days", `"[]date"`, `wire.WriteListField(w, "f", p.F, func(item runtime.Date) { wire.WriteText(w, item) })`,
			`wire.ReadListField(r, "f", &p.F, func() (item runtime.Date) {
		r.Check(item.UnmarshalText(r.Text()))
		return item
	})`},
		{"a list of structs", `"[]Named"`, `wire.WriteListField(w, "f", p.F, func(item Named) { wire.WriteStruct(w, &item) })`,
			`wire.ReadListField(r, "f", &p.F, func() (item Named) {
		wire.ReadStruct(r, &item)
		return item
	})`},
		{"a list of structs with methods", `"[]Older"`, `wire.WriteItemsField(w, "f", p.F, Older.WriteJSON)`,
			`wire.ReadItemsField(r, "f", &p.F, (*Older).ReadJSON)`},
		{"a nullable text", `string|null`, `w.Key("f")
	if p.F != nil {
		w.String(*p.F)
	} else {
		w.Null()
	}`, `wire.ReadOptionalField(r, "f", &p.F, r.String)`},
		{"a map", `map[string]float64`, `wire.WriteMapField(w, "f", p.F, w.Float64)`, `wire.ReadMapField(r, "f", &p.F, r.Float64)`},
		{"lists of lists", `"[][]int"`, `wire.WriteListField(w, "f", p.F, func(item []int) { wire.WriteList(w, item, w.Int) })`,
			`wire.ReadListField(r, "f", &p.F, func() []int { return wire.ReadList(r, r.Int) })`},
		{"a map of lists", `"map[string][]bool"`, `wire.WriteMapField(w, "f", p.F, func(item []bool) { wire.WriteList(w, item, w.Bool) })`,
			`wire.ReadMapField(r, "f", &p.F, func() []bool { return wire.ReadList(r, r.Bool) })`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := parsed(t, `
types:
  Named: { fields: { x: int } }
  Older: { fields: { x: { type: int, default: 1 } } }
  Size: { enum: [S, M] }
events:
  e:
    payload:
      f: `+test.field+`
`)
			f := c.Events[0].Fields[0]
			emits(t, "func write() {\n\t"+test.write+"\n}", jen.Func().Id("write").Params().Block(writeField("p", f)...))
			emits(t, "func read() {\n\t"+test.read+"\n}", jen.Func().Id("read").Params().Block(readField("p", f)))
		})
	}
}
