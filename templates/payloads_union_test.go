package templates

import "testing"

const paymentUnion = `
types:
  Card: { fields: { tags: "[]string" } }
  Payment: { doc: Payment is how something is paid., discriminator: kind, one_of: { card: Card, cash: { fields: {} } } }
events:
  e: { payload: { payment: Payment, more: "[]Payment?" } }
`

func TestAUnionIsASealedInterface(t *testing.T) {
	c := parsed(t, paymentUnion)
	emits(t, `
// Payment is how something is paid.
//
// It is Card or PaymentCash; no other type implements it. Calls of VisitPayment
// compile only if they handle every variant.
type Payment interface {
	isPayment()
}

func (Card) isPayment()        {}
func (PaymentCash) isPayment() {}

// VisitPayment calls the function for the variant that v is, and returns its
// result. It has a parameter for each variant, so that calls do not compile
// before they handle a new one. It panics if v is nil.
func VisitPayment[R any](
	v Payment,
	onCard func(Card) R,
	onPaymentCash func(PaymentCash) R,
) R {
	switch v := v.(type) {
	case Card:
		return onCard(v)
	case PaymentCash:
		return onPaymentCash(v)
	}
	panic(checks.NotAVariant(v, "Card", "PaymentCash"))
}

func validatePayment(v Payment) error {
	switch v := v.(type) {
	case Card:
		return v.Validate()
	case PaymentCash:
		return v.Validate()
	}
	return checks.NotAVariant(v, "Card", "PaymentCash")
}
`, union(c.Types[1])...)
	emits(t, `
// Validate returns nil or a [*runtime.ValidationError] with every problem.
func (p E) Validate() error {
	var problems checks.Problems
	problems.Nested("payment", validatePayment(p.Payment))
	for i, item := range p.More {
		problems.Item("more", i, validatePayment(item))
	}
	return problems.Err()
}`, validateStruct(eventShape(c.Events[0])))
}

func TestAStructWithAUnionHasATwinForItsJSON(t *testing.T) {
	c := parsed(t, paymentUnion)
	emits(t, "// jsonOfE is E as encoding/json writes and reads it.\n"+
		"type jsonOfE struct {\n"+
		"	Payment jsonOfPayment   `json:\"payment\"`\n"+
		"	More    []jsonOfPayment `json:\"more,omitzero\"`\n"+
		"}\n"+`
// MarshalJSON implements json.Marshaler.
func (p E) MarshalJSON() ([]byte, error) {
	return json.Marshal(&jsonOfE{
		Payment: jsonOfPayment{p.Payment},
		More:    wire.EachItem(p.More, func(item Payment) jsonOfPayment { return jsonOfPayment{item} }),
	})
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *E) UnmarshalJSON(data []byte) error {
	var j jsonOfE
	err := json.Unmarshal(data, &j)
	*p = E{
		Payment: j.Payment.value,
		More:    wire.EachItem(j.More, func(item jsonOfPayment) Payment { return item.value }),
	}
	return err
}
`, structCodec(eventShape(c.Events[0]))...)
}
