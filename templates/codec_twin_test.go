package templates

import "testing"

func TestCustomTypesAreAddressableEverywhere(t *testing.T) {
	c := parsed(t, `
types:
  Big: { go: { import: math/big, type: Int }, type: json }
  Amount: { fields: { value: Big } }
  Listed: { fields: { all: "[]Big", maybe: "Big?", by_name: "map[string][]Big" } }
events:
  e: { payload: { one: Big, all: "[]map[string]Big?", by_name: "map[string]Big" } }
`)
	emits(t, "// jsonOfE is E as encoding/json writes and reads it.\n"+
		"type jsonOfE struct {\n"+
		"	One    big.Int                           `json:\"one\"`\n"+
		"	All    []map[string]wire.Custom[big.Int] `json:\"all,omitzero\"`\n"+
		"	ByName map[string]wire.Custom[big.Int]   `json:\"by_name\"`\n"+
		`}

// MarshalJSON implements json.Marshaler.
func (p E) MarshalJSON() ([]byte, error) {
	return json.Marshal(&jsonOfE{
		One: p.One,
		All: wire.EachItem(p.All, func(item map[string]big.Int) map[string]wire.Custom[big.Int] {
			return wire.EachEntry(item, wire.NewCustom)
		}),
		ByName: wire.EachEntry(p.ByName, wire.NewCustom),
	})
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *E) UnmarshalJSON(data []byte) error {
	var j jsonOfE
	err := json.Unmarshal(data, &j)
	*p = E{
		One: j.One,
		All: wire.EachItem(j.All, func(item map[string]wire.Custom[big.Int]) map[string]big.Int {
			return wire.EachEntry(item, wire.Custom[big.Int].Get)
		}),
		ByName: wire.EachEntry(j.ByName, wire.Custom[big.Int].Get),
	}
	return err
}

// MarshalJSON implements json.Marshaler. It makes the fields of v addressable,
// so that encoding/json calls methods with pointer receivers.
func (v Amount) MarshalJSON() ([]byte, error) {
	type plain Amount
	return json.Marshal((*plain)(&v))
}
`, codec(c)...)
}
