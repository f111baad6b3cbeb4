package templates

import (
	"testing"

	"github.com/dave/jennifer/jen"
)

func TestAPayloadIsWrittenAndReadFieldByField(t *testing.T) {
	c := parsed(t, `
types:
  Money: { fields: { amount: int64 } }
events:
  order.placed:
    payload: { order_id: uuid, note: "string?", total: Money, paid: "Money?", paid_at: "time?", tags: "[]string?" }
  ping: {}
`)
	emits(t, `
// WriteJSON writes p as encoding/json does. See [wire.Writer].
func (p OrderPlaced) WriteJSON(w *wire.Writer) {
	if !w.BeginObject() {
		return
	}
	w.Key("order_id")
	w.UUID(p.OrderID)
	if p.Note != nil {
		w.Key("note")
		w.String(*p.Note)
	}
	w.Key("total")
	p.Total.WriteJSON(w)
	if p.Paid != nil {
		w.Key("paid")
		p.Paid.WriteJSON(w)
	}
	if p.PaidAt != nil {
		w.Key("paid_at")
		w.Time(*p.PaidAt)
	}
	if p.Tags != nil {
		w.Key("tags")
		wire.WriteList(w, p.Tags, w.String)
	}
	w.EndObject()
}

// ReadJSON reads p as encoding/json does, or gives up. See [wire.Reader].
func (p *OrderPlaced) ReadJSON(r *wire.Reader) {
	r.BeginObject()
	if r.Key("order_id") {
		p.OrderID = r.UUID()
	}
	if r.Key("note") {
		p.Note = wire.ReadOptional(r, r.String)
	}
	if r.Key("total") {
		p.Total.ReadJSON(r)
	}
	if r.Key("paid") {
		p.Paid = wire.ReadOptional(r, func() (item Money) {
			item.ReadJSON(r)
			return item
		})
	}
	if r.Key("paid_at") {
		p.PaidAt = wire.ReadOptional(r, r.Time)
	}
	if r.Key("tags") {
		p.Tags = wire.ReadList(r, r.String)
	}
	r.EndObject()
}

// WriteJSON writes p as encoding/json does. See [wire.Writer].
func (p Ping) WriteJSON(w *wire.Writer) {
	if !w.BeginObject() {
		return
	}
	w.EndObject()
}

// ReadJSON reads p as encoding/json does, or gives up. See [wire.Reader].
func (p *Ping) ReadJSON(r *wire.Reader) {
	r.BeginObject()
	r.EndObject()
}
`, codec(c)[:4]...)
}

func TestAnEnumIsWrittenAndReadAsAText(t *testing.T) {
	c := parsed(t, `
types:
  Size: { enum: [S, M, L] }
events:
  ping: {}
`)
	emits(t, `
// WriteJSON writes v as encoding/json does. See [wire.Writer].
func (v Size) WriteJSON(w *wire.Writer) {
	w.String(string(v))
}

// ReadJSON reads v as encoding/json does, or gives up. See [wire.Reader].
func (v *Size) ReadJSON(r *wire.Reader) {
	*v = wire.ReadEnum(r, SizeS, SizeM, SizeL)
}
`, writeEnum(c.Types[0]), readEnum(c.Types[0]))
}

func TestEveryTypeHasAWayToWriteAndReadIt(t *testing.T) {
	tests := []struct {
		name, field, write, read string
	}{
		{"text", `string`, `w.String(p.F)`, `p.F = r.String()`},
		{"a number", `uint64`, `w.Uint64(p.F)`, `p.F = r.Uint64()`},
		{"bytes, which need no pointer", `bytes?`, `w.Bytes(p.F)`, `p.F = r.Bytes()`},
		{"JSON, likewise", `json?`, `w.JSON(p.F)`, `p.F = r.JSON()`},
		{"a day", `date`, `wire.WriteText(w, p.F)`, `r.Check(p.F.UnmarshalText(r.Text()))`},
		{"an optional duration", `duration?`, `wire.WriteText(w, *p.F)`, `p.F = wire.ReadOptional(r, func() (item runtime.Duration) {
			r.Check(item.UnmarshalText(r.Text()))
			return item
		})`},
		{"a named type", `Named`, `p.F.WriteJSON(w)`, `p.F.ReadJSON(r)`},
		{"a list of days", `"[]date"`, `wire.WriteList(w, p.F, func(item runtime.Date) { wire.WriteText(w, item) })`,
			`p.F = wire.ReadList(r, func() (item runtime.Date) {
			r.Check(item.UnmarshalText(r.Text()))
			return item
		})`},
		{"a list of a named type", `"[]Named"`, `wire.WriteList(w, p.F, func(item Named) { item.WriteJSON(w) })`,
			`p.F = wire.ReadList(r, func() (item Named) {
			item.ReadJSON(r)
			return item
		})`},
		{"a nullable text", `string|null`, `w.String(*p.F)`, `p.F = wire.ReadOptional(r, r.String)`},
		{"a map", `map[string]float64`, `wire.WriteMap(w, p.F, w.Float64)`, `p.F = wire.ReadMap(r, r.Float64)`},
		{"lists of lists", `"[][]int"`, `wire.WriteList(w, p.F, func(item []int) { wire.WriteList(w, item, w.Int) })`,
			`p.F = wire.ReadList(r, func() []int { return wire.ReadList(r, r.Int) })`},
		{"a map of lists", `"map[string][]bool"`, `wire.WriteMap(w, p.F, func(item []bool) { wire.WriteList(w, item, w.Bool) })`,
			`p.F = wire.ReadMap(r, func() []bool { return wire.ReadList(r, r.Bool) })`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := parsed(t, `
types:
  Named: { fields: { x: int } }
events:
  e:
    payload:
      f: `+test.field+`
`)
			f := c.Events[0].Fields[0]
			write := "w.Key(\"f\")\n\t" + test.write
			if f.Type.Nullable {
				write = "w.Key(\"f\")\n\tif p.F != nil {\n\t\t" + test.write + "\n\t} else {\n\t\tw.Null()\n\t}"
			}
			if f.Type.Optional {
				write = "if p.F != nil {\n\t\tw.Key(\"f\")\n\t\t" + test.write + "\n\t}"
			}
			emits(t, "func write() {\n\t"+write+"\n}", jen.Func().Id("write").Params().Block(writeField("p", f)...))
			emits(t, "func read() {\n\tif r.Key(\"f\") {\n\t\t"+test.read+"\n\t}\n}", jen.Func().Id("read").Params().Block(readField("p", f)))
		})
	}
}
