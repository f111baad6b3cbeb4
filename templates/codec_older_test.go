package templates

import "testing"

func TestAFieldIsReadByItsFormerNamesAndItsDefault(t *testing.T) {
	c := parsed(t, `
types:
  Payment: { one_of: { cash: { fields: {} } } }
events:
  a: { payload: { to: { type: string, was: [home, address] }, floor: { type: int, was: level, default: 1 }, note: { type: "string?", default: none } } }
  b: { payload: { by: { type: Payment, was: paid } } }
  c: { payload: { e: { type: int, default: 1 }, e2: { type: int, json: E }, f: int } }
`)
	emits(t, `
// ReadJSON reads p as encoding/json does, or gives up. See [wire.Reader].
func (p *A) ReadJSON(r *wire.Reader) {
	r.BeginObject()
	if r.Key("to") || r.Key("home") || r.Key("address") {
		p.To = r.String()
	}
	if r.Key("floor") || r.Key("level") {
		p.Floor = r.Int()
	} else {
		p.Floor = 1
	}
	wire.ReadOptionalField(r, "note", &p.Note, r.String)
	r.EndObject()
}

// UpgradeJSON returns the JSON of a stored A with present names for renamed
// fields, and with the defaults of missing fields.
func (A) UpgradeJSON(data []byte) []byte {
	return wire.Upgrade(
		data,
		wire.OlderField{Name: "to", Was: []string{"home", "address"}},
		wire.OlderField{Name: "floor", Was: []string{"level"}, Default: "1"},
	)
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *A) UnmarshalJSON(data []byte) error {
	type plain A
	return json.Unmarshal(p.UpgradeJSON(data), (*plain)(p))
}
`, structCodec(eventShape(c.Events[0]))[1:]...)
	emits(t, `
// UnmarshalJSON implements json.Unmarshaler.
func (p *B) UnmarshalJSON(data []byte) error {
	var j jsonOfB
	err := json.Unmarshal(p.UpgradeJSON(data), &j)
	*p = B{
		By: j.By.value,
	}
	return err
}
`, unmarshalTwin(eventShape(c.Events[1])))
	emits(t, `
// UpgradeJSON returns the JSON of a stored C with present names for renamed
// fields, and with the defaults of missing fields.
func (C) UpgradeJSON(data []byte) []byte {
	return wire.Upgrade(
		data,
		wire.OlderField{Name: "e", Default: "1"},
		wire.OlderField{Name: "E"},
	)
}
`, upgradeJSON(eventShape(c.Events[2])))
}
