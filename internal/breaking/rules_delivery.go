package breaking

import (
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

var partitionChanged = Rule{
	Rule: rules.PartitionChanged, Direction: diag.Backward,
	Before: `
events:
  order.placed: { partition_by: order_id, payload: { order_id: uuid, customer_id: uuid } }`,
	Bad: `
events:
  order.placed: { partition_by: customer_id, payload: { order_id: uuid, customer_id: uuid } }`,
	Good: `
events:
  order.placed: { partition_by: order_id, payload: { order_id: uuid, customer_id: uuid, note: "string?" } }`,
}

var expiresSooner = Rule{
	Rule: rules.ExpiresSooner, Direction: diag.Backward,
	Before: `
events:
  order.placed: { expires_after: 2d }`,
	Bad: `
events:
  order.placed: { expires_after: 1h }`,
	Good: `
events:
  order.placed: { expires_after: 3d }`,
}

var subscriptionRemoved = Rule{
	Rule: rules.SubscriptionRemoved, Direction: diag.Backward,
	Before: `
events:
  order.placed: { subscriptions: { send-receipt: {} } }`,
	Bad: `
events:
  order.placed: { subscriptions: { mail-receipt: {} } }`,
	Good: `
events:
  order.placed: { subscriptions: { mail-receipt: { aliases: [send-receipt] } } }`,
}

var subscriptionMoved = Rule{
	Rule: rules.SubscriptionMoved, Direction: diag.Both,
	Before: `
events:
  order.placed: { subscriptions: { send-receipt: {} } }
  order.paid: {}`,
	Bad: `
events:
  order.placed: {}
  order.paid: { subscriptions: { send-receipt: {} } }`,
	Good: `
events:
  order.placed: { subscriptions: { send-receipt: {} } }
  order.paid: { subscriptions: { send-invoice: {} } }`,
}

// StoredRows is the rule for events in a file that the code of the catalogue cannot
// decode. It has no example.
var StoredRows = Rule{
	Rule: rules.StoredRows, Direction: diag.Backward,
}
