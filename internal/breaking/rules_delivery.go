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

var dedupeChanged = Rule{
	Rule: rules.DedupeChanged, Direction: diag.Backward,
	Before: `
events:
  payment.captured: { dedupe_by: payment_id, payload: { payment_id: uuid, order_id: uuid } }`,
	Bad: `
events:
  payment.captured: { dedupe_by: order_id, payload: { payment_id: uuid, order_id: uuid } }`,
	Good: `
events:
  payment.captured: { dedupe_by: payment, payload: { payment: { type: uuid, was: payment_id }, order_id: uuid } }
  payment.declined: { dedupe_by: order_id, payload: { order_id: uuid } }`,
}

var awaitChanged = Rule{
	Rule: rules.AwaitChanged, Direction: diag.Backward,
	Before: `
events:
  parcel.scanned: { await_by: order_id, payload: { order_id: uuid, parcel_id: uuid } }
  parcel.lost: { payload: { order_id: uuid } }`,
	Bad: `
events:
  parcel.scanned: { await_by: parcel_id, payload: { order_id: uuid, parcel_id: uuid } }
  parcel.lost: { payload: { order_id: uuid } }`,
	Good: `
events:
  parcel.scanned: { await_by: order, payload: { order: { type: uuid, was: order_id }, parcel_id: uuid } }
  parcel.lost: { await_by: order_id, payload: { order_id: uuid } }`,
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

var subscriptionNarrowed = Rule{
	Rule: rules.SubscriptionNarrowed, Direction: diag.Backward,
	Before: `
events:
  order.placed: {}
  order.line.added: {}
subscriptions:
  to-erp: { pattern: order.* }`,
	Bad: `
events:
  order.placed: {}
  order.line.added: {}
subscriptions:
  to-erp: { pattern: order.placed }`,
	Good: `
events:
  order.placed: {}
  line.added: { aliases: [order.line.added] }
subscriptions:
  copy-to-erp: { aliases: [to-erp], pattern: [order.placed, line.*] }`,
}

var subscriptionWidened = Rule{
	Rule: rules.SubscriptionWidened, Direction: diag.Backward,
	Before: `
events:
  order.placed: {}
  order.paid: {}
subscriptions:
  to-erp: { pattern: order.placed }`,
	Bad: `
events:
  order.placed: {}
  order.paid: {}
subscriptions:
  to-erp: { pattern: order.* }`,
	Good: `
events:
  order.placed: {}
  order.paid: {}
  order.sent: {}
subscriptions:
  to-erp: { pattern: [order.placed, order.sent] }`,
}

var scheduleRemoved = Rule{
	Rule: rules.ScheduleRemoved, Direction: diag.Backward,
	Before: `
events:
  report.requested: {}
schedules:
  nightly-report: { event: report.requested, cron: "0 3 * * *" }`,
	Bad: `
events:
  report.requested: {}
schedules:
  report-of-the-day: { event: report.requested, cron: "0 3 * * *" }`,
	Good: `
events:
  report.asked: { aliases: [report.requested] }
schedules:
  nightly-report: { event: report.asked, every: 12h }`,
}

var scheduleMoved = Rule{
	Rule: rules.ScheduleMoved, Direction: diag.Backward,
	Before: `
events:
  report.requested: {}
  cache.expired: {}
schedules:
  nightly: { event: report.requested, cron: "0 3 * * *" }`,
	Bad: `
events:
  report.requested: {}
  cache.expired: {}
schedules:
  nightly: { event: cache.expired, cron: "0 3 * * *" }`,
	Good: `
events:
  report.requested: {}
  cache.expired: {}
schedules:
  nightly: { event: report.requested, cron: "0 4 * * *" }
  nightly-cache: { event: cache.expired, cron: "0 3 * * *" }`,
}

var cloudEventsChanged = Rule{
	Rule: rules.CloudEventsChanged, Direction: diag.Forward,
	Before: `
cloudevents: { source: https://shop.example, type_prefix: com.example. }
events:
  order.placed: {}`,
	Bad: `
cloudevents: { source: https://shop.example/orders, type_prefix: com.example. }
events:
  order.placed: {}`,
	Good: `
cloudevents: { type_prefix: com.example., source: https://shop.example }
events:
  order.placed: {}
  order.paid: {}`,
}

var headerRequired = Rule{
	Rule: rules.HeaderRequired, Direction: diag.Backward,
	Before: `
headers: { tenant: string }
events:
  order.placed: {}`,
	Bad: `
headers: { tenant: { type: string, required: true } }
events:
  order.placed: {}`,
	Good: `
headers: { tenant: string, request_id: uuid }
policies:
  user.*: { headers: { tenant: { required: true } } }
events:
  order.placed: {}
  user.created: {}`,
}

var headerOptional = Rule{
	Rule: rules.HeaderOptional, Direction: diag.Forward,
	Before: `
headers: { tenant: { type: string, required: true } }
events:
  order.placed: {}`,
	Bad: `
headers: { tenant: string }
events:
  order.placed: {}`,
	Good: `
headers: { tenant: { type: string, required: true, doc: Whose data it is. } }
events:
  order.placed: {}`,
}

var headerRemoved = Rule{
	Rule: rules.HeaderRemoved, Direction: diag.Forward,
	Before: `
headers: { tenant: { type: string, required: true } }
events:
  order.placed: {}`,
	Bad: `
events:
  order.placed: {}`,
	Good: `
policies:
  order.*: { headers: { tenant: { type: string, required: true } } }
events:
  order.placed: {}`,
}

var headerChanged = Rule{
	Rule: rules.HeaderChanged, Direction: diag.Both,
	Before: `
headers: { request_id: uuid }
events:
  order.placed: {}`,
	Bad: `
headers: { request_id: string }
events:
  order.placed: {}`,
	Good: `
headers: { request_id: uuid, request_name: string }
events:
  order.placed: {}`,
}

var subscriptionRegrouped = Rule{
	Rule: rules.SubscriptionGrouped, Direction: diag.Backward,
	Before: `
events:
  payment.due: { subscriptions: { bank: {} } }`,
	Bad: `
events:
  payment.due: { subscriptions: { bank: { group: payment-chain }, audit: { group: payment-chain } } }`,
	Good: `
events:
  payment.due: { subscriptions: { bank: { group: payment-chain }, audit: { group: payment-chain } } }
groups:
  payment-chain: { aliases: [bank] }`,
}

// MergedTwice is the rule for what two merged branches brought with different fields, which package record finds. It
// has no example.
var MergedTwice = Rule{
	Rule: rules.MergedTwice, Direction: diag.Backward,
}

// StoredRows is the rule for events in a file that the code of the catalogue cannot
// decode. It has no example.
var StoredRows = Rule{
	Rule: rules.StoredRows, Direction: diag.Backward,
}

// StoredFields is the rule for those that lack required fields. It has no example.
var StoredFields = Rule{
	Rule: rules.StoredFields, Direction: diag.Backward,
}
