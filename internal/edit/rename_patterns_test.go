package edit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/edit"
)

const patterned = `version: 1
package: shop
events:
  order.placed: { subscriptions: { receipt: { group: chain } } }
  order.paid: { wire: OrderPaid }
subscriptions:
  to-erp: { pattern: [order.placed, "OrderPaid"], group: chain }
  audit:
    pattern: order.placed
  whole: { pattern: "*" }
`

func TestPatternsOfSubscriptionsFollowWhatIsRenamed(t *testing.T) {
	for name, test := range map[string]struct {
		rename func(c *edit.Catalogue) (*edit.Change, error)
		want   string
	}{
		"an event": {func(c *edit.Catalogue) (*edit.Change, error) { return edit.RenameEvent(c, "order.placed", "sale.made") }, `version: 1
package: shop
events:
  sale.made: { aliases: [order.placed], subscriptions: { receipt: { group: chain } } }
  order.paid: { wire: OrderPaid }
subscriptions:
  to-erp: { pattern: [sale.made, "OrderPaid"], group: chain }
  audit:
    pattern: sale.made
  whole: { pattern: "*" }
`},
		"an event that keeps its name on the wire": {func(c *edit.Catalogue) (*edit.Change, error) { return edit.RenameEvent(c, "order.paid", "sale.paid") }, `version: 1
package: shop
events:
  order.placed: { subscriptions: { receipt: { group: chain } } }
  sale.paid: { wire: OrderPaid }
subscriptions:
  to-erp: { pattern: [order.placed, "OrderPaid"], group: chain }
  audit:
    pattern: order.placed
  whole: { pattern: "*" }
`},
		"a subscription": {func(c *edit.Catalogue) (*edit.Change, error) { return edit.RenameSubscription(c, "audit", "log") }, `version: 1
package: shop
events:
  order.placed: { subscriptions: { receipt: { group: chain } } }
  order.paid: { wire: OrderPaid }
subscriptions:
  to-erp: { pattern: [order.placed, "OrderPaid"], group: chain }
  log:
    aliases: [audit]
    pattern: order.placed
  whole: { pattern: "*" }
`},
		"a group": {func(c *edit.Catalogue) (*edit.Change, error) { return edit.RenameGroup(c, "chain", "books") }, `version: 1
package: shop
events:
  order.placed: { subscriptions: { receipt: { group: books } } }
  order.paid: { wire: OrderPaid }
subscriptions:
  to-erp: { pattern: [order.placed, "OrderPaid"], group: books }
  audit:
    pattern: order.placed
  whole: { pattern: "*" }

groups:
  books: { aliases: [chain] }
`},
	} {
		change, err := test.rename(one(patterned))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, string(change.Files[0].Text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
