package templates

import (
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/payload/schema"
)

func TestATypeThatSeveralEventsUseStandsOnceInTheSchemas(t *testing.T) {
	c := parsed(t, `
types:
  Money: { fields: { cents: int64 } }
  Color: { enum: [red, "gr`+"`"+`een"] }
events:
  order.paid: { payload: { total: Money, color: Color } }
  order.refunded: { payload: { total: Money } }
  ping: {}
`)
	emits(t, `
const typeSchemaOfColor = `+"`"+`"Color":{"enum":["red","gr\u0060een"]}`+"`"+`

const typeSchemaOfMoney = `+"`"+`"Money":{"fields":{"cents":"int64"}}`+"`"+`

// schemaOfOrderPaid says what payloads order.paid has. The file of a bus keeps
// it.
const schemaOfOrderPaid = `+"`"+`{"event":"order.paid","version":1,"payload":{"total":"Money","color":"Color"},"types":{`+"`"+` +
	typeSchemaOfColor + "," +
	typeSchemaOfMoney + "}}"

// schemaOfOrderRefunded says what payloads order.refunded has. The file of a
// bus keeps it.
const schemaOfOrderRefunded = `+"`"+`{"event":"order.refunded","version":1,"payload":{"total":"Money"},"types":{`+"`"+` +
	typeSchemaOfMoney + "}}"

// schemaOfPing says what payloads ping has. The file of a bus keeps it.
const schemaOfPing = `+"`"+`{"event":"ping","version":1,"payload":{}}`+"`"+`
`, schemas(c)...)
	for _, e := range c.Events { // which has what the file keeps, in one piece
		own, types := schema.Parts(e)
		text := own
		for i, one := range types {
			text += strings.Repeat(",", min(i, 1)) + one.Text
		}
		if text += schema.End(types); text != schema.Of(e) {
			t.Errorf("%s: %s", e.Name.V, text)
		}
	}
}
