package breaking

import "github.com/busgen/busgen/internal/lint"

var partitionChanged = Rule{
	ID: "partition-changed", Severity: lint.Note, Direction: Backward,
	Purpose: "Rows that wait are put in order by the new key from the first start on.",
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
	ID: "expires-sooner", Severity: lint.Note, Direction: Backward,
	Purpose: "Rows that have waited for longer become dead letters at the first start.",
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
	ID: "subscription-removed", Severity: lint.Warning, Direction: Backward,
	Purpose: "A file does not forget a subscription: what waits for it waits for ever, unless the program still handles it.",
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
	ID: "subscription-moved", Severity: lint.Error, Direction: Both,
	Purpose: "Pending events of the former event become dead letters of the subscription.",
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

// StoredRows is the rule of rows that were found in a file.
var StoredRows = Rule{
	ID: "stored-rows", Severity: lint.Error, Direction: Backward,
	Purpose: "The file has open events or dead letters that the catalogue's code does not decode (--db).",
}
