package wire_test

import (
	"fmt"

	"github.com/busgen/busgen/runtime/gen/wire"
)

// Money has the methods that busgen would generate for it.
type Money struct {
	Amount   int64   `json:"amount"`
	Currency string  `json:"currency"`
	Note     *string `json:"note,omitempty"`
}

func (m Money) WriteJSON(w *wire.Writer) {
	w.BeginObject()
	w.Int64Field("amount", m.Amount)
	w.StringField("currency", m.Currency)
	wire.WriteOptionalField(w, "note", m.Note, w.String)
	w.EndObject()
}

func (m *Money) ReadJSON(r *wire.Reader) {
	r.BeginObject()
	r.Int64Field("amount", &m.Amount)
	r.StringField("currency", &m.Currency)
	wire.ReadOptionalField(r, "note", &m.Note, r.String)
	r.EndObject()
}

func Example() {
	codec := wire.NewCodec[Money]()

	encoded, err := codec.Encode(Money{Amount: 1999, Currency: "EUR"})
	fmt.Println(string(encoded), err)

	money, err := codec.Decode(encoded)
	fmt.Println(money.Amount, money.Currency, err)

	// The order of another writer: ReadJSON gives up, encoding/json does not.
	money, err = codec.Decode([]byte(`{ "currency": "USD", "amount": 5 }`))
	fmt.Println(money.Amount, money.Currency, err)

	_, err = codec.Decode([]byte(`{"amount":"a lot"}`))
	fmt.Println(err)
	// Output:
	// {"amount":1999,"currency":"EUR"} <nil>
	// 1999 EUR <nil>
	// 5 USD <nil>
	// json: cannot unmarshal string into Go struct field Money.amount of type int64
}

func ExampleReader() {
	read := func(data string) {
		var money Money
		r := wire.NewReader([]byte(data))
		money.ReadJSON(r)
		fmt.Println(r.Finish(), data)
	}
	read(`{"amount":1999,"currency":"EUR"}`)
	read(`{"amount":1999}`)
	read(`{"currency":"EUR","amount":1999}`)
	read(`{"amount":1999,"currency":"EUR","colour":"red"}`)
	read(`{"amount":null}`)
	// Output:
	// true {"amount":1999,"currency":"EUR"}
	// true {"amount":1999}
	// false {"currency":"EUR","amount":1999}
	// false {"amount":1999,"currency":"EUR","colour":"red"}
	// false {"amount":null}
}
