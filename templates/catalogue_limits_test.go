package templates

import "testing"

func TestLimitsAreConstantsAndPartOfTheCatalogue(t *testing.T) {
	c := parsed(t, `
limits:
  bank: { doc: The bank is slow., at_once: 3 }
  mail-api: { go_name: Mail, rate: 100 per 1m }
types: { Customer: { fields: { level: Level } }, Level: { enum: { low: 1 } } }
events:
  order.placed:
    limits: [bank, { limit: mail-api, by: id }]
    payload: { id: int64, customer: Customer }
    subscriptions: { a: { limits: [{ limit: bank, by: customer.level }] }, b: { limits: [{ limit: bank, by: id }] } }
`)
	emits(t, `
// The limits of the catalogue. The settings say which deliveries wait for their
// turn in them; [runtime.Bus.Limiter] is for code outside of handlers.
const (
	// The bank is slow.
	LimitBank string = "bank"
	LimitMail string = "mail-api"
)

// Catalogue holds every event type of events.yaml.
var Catalogue = runtime.NewCatalogue(
	OrderPlacedType,
).WithLimits(
	declare.Limit{Name: LimitBank, Doc: "The bank is slow.", AtOnce: 3},
	declare.Limit{Name: LimitMail, Rate: 100, Per: time.Minute},
)
`, limitNames(c), catalogueVar(c))
	emits(t, `
[]declare.LimitUse{{Limit: "bank"}, {Limit: "mail-api", By: "id"}}
`, limitUses(c.Events[0].Settings.Limits.V))
	emits(t, `
map[string]string{
	"id":             "ID",
	"customer.level": "Customer.Level",
}
`, limitKeys(c.Events[0]))
}
