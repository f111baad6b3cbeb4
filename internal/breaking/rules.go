package breaking

import "github.com/busgen/busgen/internal/lint"

// Rule is one kind of change. Before, Bad and Good are pieces of a catalogue: what it
// was, a change that is reported, and one that is not.
type Rule struct {
	ID        string
	Severity  lint.Severity // the worst that it reports
	Direction Direction     // in which it can go wrong
	Purpose   string        // what goes wrong, in a sentence
	Before    string
	Bad       string
	Good      string
}

// Rules lists the rules: events, versions, fields, types, what is not about decoding,
// subscriptions, and rows of a file.
func Rules() []Rule {
	return []Rule{
		eventRemoved, eventAdded, aliasRemoved, aliasMoved,
		versionRaised, versionLowered, historyDropped, historyEdited,
		fieldAdded, fieldRemoved, fieldRenamed, fieldRequired, fieldOptional,
		typeChanged, customChanged, enumValueRemoved, enumValueAdded, enumRenumbered, variantRemoved, variantAdded, discriminatorChanged,
		constraintTightened, defaultChanged, partitionChanged, expiresSooner,
		subscriptionRemoved, subscriptionMoved,
		StoredRows,
	}
}

// RuleOf returns the rule of an id.
func RuleOf(id string) (Rule, bool) {
	for _, rule := range Rules() {
		if rule.ID == id {
			return rule, true
		}
	}
	return Rule{}, false
}

// Effects of single rules.
var (
	fieldRenamedEffect = effect{"the new program does not see what old rows have under the old name", "the old program does not see what new rows have under the new name", "neither program sees what rows of the other have under its name"}
	customEffect       = effect{"what it makes of old rows is its own affair", "what old programs make of new rows is their own affair", "what each makes of rows of the other is its own affair"}
	renumbered         = effect{"old rows mean something else by it", "new rows mean something else by it in the old program", "rows mean something else by it in the other program"}
)

var eventRemoved = Rule{
	ID: "event-removed", Severity: lint.Error, Direction: Backward,
	Purpose: "Rows of an event that is not in the catalogue decode for nobody: they wait, or become dead letters.",
	Before: `
events:
  order.placed: { payload: { order_id: uuid } }
  order.paid: {}`,
	Bad: `
events:
  order.accepted: { payload: { order_id: uuid } }
  order.paid: {}`,
	Good: `
events:
  order.accepted: { aliases: [order.placed], payload: { order_id: uuid } }
  order.paid: {}`,
}

var eventAdded = Rule{
	ID: "event-added", Severity: lint.Note, Direction: Forward,
	Purpose: "Old programs that subscribe to a pattern set events that they do not know aside as dead letters.",
	Before: `
events:
  order.placed: {}`,
	Bad: `
events:
  order.placed: {}
  order.paid: {}`,
	Good: `
events:
  order.placed: { doc: A customer placed an order. }`,
}

var aliasRemoved = Rule{
	ID: "alias-removed", Severity: lint.Warning, Direction: Backward,
	Purpose: "Rows that are still stored under a former name, and subscriptions of one, are found by the alias only.",
	Before: `
events:
  order.placed: { aliases: [order.made] }`,
	Bad: `
events:
  order.placed: {}`,
	Good: `
events:
  order.placed: { aliases: [order.made, order.created] }`,
}

var aliasMoved = Rule{
	ID: "alias-moved", Severity: lint.Error, Direction: Backward,
	Purpose: "Rows of a former name are delivered as another event than the one that they were.",
	Before: `
events:
  order.placed: { aliases: [order.made] }
  order.paid: {}`,
	Bad: `
events:
  order.placed: {}
  order.paid: { aliases: [order.made] }`,
	Good: `
events:
  order.accepted: { aliases: [order.placed, order.made] }
  order.paid: {}`,
}

var versionRaised = Rule{
	ID: "version-raised", Severity: lint.Error, Direction: Forward,
	Purpose: "An old program sets events of a version that it does not know aside as dead letters.",
	Before: `
events:
  order.placed: { payload: { total: int64 } }`,
	Bad: `
events:
  order.placed: { version: 2, payload: { total: string }, history: { 1: { payload: { total: int64 } } } }`,
	Good: `
events:
  order.placed: { payload: { total: int64, note: "string?" } }`,
}

var versionLowered = Rule{
	ID: "version-lowered", Severity: lint.Error, Direction: Backward,
	Purpose: "Rows of a version that the new program does not know become dead letters.",
	Before: `
events:
  order.placed: { version: 2, payload: { total: string }, history: { 1: { payload: { total: int64 } } } }`,
	Bad: `
events:
  order.placed: { payload: { total: int64 } }`,
	Good: `
events:
  order.placed: { version: 3, payload: { total: int64 }, history: { 1: { payload: { total: int64 } }, 2: { payload: { total: string } } } }`,
}

var historyDropped = Rule{
	ID: "history-dropped", Severity: lint.Warning, Direction: Backward,
	Purpose: "Rows of a version that was dropped become dead letters, if there are any left.",
	Before: `
events:
  order.placed: { version: 2, payload: { total: string }, history: { 1: { payload: { total: int64 } } } }`,
	Bad: `
events:
  order.placed: { version: 2, payload: { total: string }, history: { 1: dropped } }`,
	Good: `
events:
  order.placed: { version: 2, payload: { total: string }, history: { 1: { doc: The total was in cents., payload: { total: int64 } } } }`,
}

var historyEdited = Rule{
	ID: "history-edited", Severity: lint.Warning, Direction: Backward,
	Purpose: "History says what was stored. What it leaves out of an old payload is lost before an upcast sees it.",
	Before: `
events:
  order.placed: { payload: { total: int64, note: "string?" } }`,
	Bad: `
events:
  order.placed: { version: 2, payload: { total: string }, history: { 1: { payload: { total: int64 } } } }`,
	Good: `
events:
  order.placed: { version: 2, payload: { total: string }, history: { 1: { payload: { total: int64, note: "string?" } } } }`,
}

var fieldAdded = Rule{
	ID: "field-added", Severity: lint.Warning, Direction: Backward,
	Purpose: "Old rows lack a new field, so that handlers find its zero value, which the catalogue says cannot be.",
	Before: `
events:
  order.placed: { payload: { order_id: uuid } }`,
	Bad: `
events:
  order.placed: { payload: { order_id: uuid, email: string } }`,
	Good: `
events:
  order.placed: { payload: { order_id: uuid, email: "string?" } }`,
}

var fieldRemoved = Rule{
	ID: "field-removed", Severity: lint.Warning, Direction: Forward,
	Purpose: "New rows lack a field that old programs rely on.",
	Before: `
events:
  order.placed: { payload: { order_id: uuid, email: string, note: "string?" } }`,
	Bad: `
events:
  order.placed: { payload: { order_id: uuid, note: "string?" } }`,
	Good: `
events:
  order.placed: { payload: { order_id: uuid, email: string } }`,
}

var fieldRenamed = Rule{
	ID: "field-renamed", Severity: lint.Warning, Direction: Both,
	Purpose: "The name of a field is its key in the JSON: under another name nobody finds what is stored.",
	Before: `
events:
  order.placed: { payload: { email: string } }`,
	Bad: `
events:
  order.placed: { payload: { customer_email: string } }`,
	Good: `
events:
  order.placed: { payload: { email: { type: string, go_name: CustomerEmail } } }`,
}

var fieldRequired = Rule{
	ID: "field-required", Severity: lint.Warning, Direction: Backward,
	Purpose: "Old rows may lack a field that was optional, and handlers find its zero value.",
	Before: `
events:
  order.placed: { payload: { email: "string?" } }`,
	Bad: `
events:
  order.placed: { payload: { email: string } }`,
	Good: `
events:
  order.placed: { payload: { email: { type: "string?", default: none } } }`,
}

var fieldOptional = Rule{
	ID: "field-optional", Severity: lint.Warning, Direction: Forward,
	Purpose: "New rows may lack a field that old programs rely on.",
	Before: `
events:
  order.placed: { payload: { email: string } }`,
	Bad: `
events:
  order.placed: { payload: { email: "string?" } }`,
	Good: `
events:
  order.placed: { payload: { email: { type: string, deprecated: "use customer_id", doc: Still filled in. } } }`,
}

var typeChanged = Rule{
	ID: "type-changed", Severity: lint.Error, Direction: Both,
	Purpose: "JSON of another kind does not decode: a text is no number, and a large number does not fit a small type.",
	Before: `
types:
  Money: { fields: { amount: int32, currency: string } }
events:
  order.placed: { payload: { total: Money, number: int32 } }`,
	Bad: `
types:
  Money: { fields: { amount: string, currency: string } }
events:
  order.placed: { payload: { total: Money, number: int64 } }`,
	Good: `
types:
  Price: { fields: { currency: string, amount: { type: int64, max: 2000000000, min: 0 } } }
events:
  order.placed: { payload: { total: Price, number: int32 } }`,
}

var customChanged = Rule{
	ID: "custom-type-changed", Severity: lint.Warning, Direction: Both,
	Purpose: "What a custom Go type reads is known to nobody but itself.",
	Before: `
events:
  host.seen: { payload: { address: string } }`,
	Bad: `
types:
  Address: { go: { import: net/netip, type: Addr }, type: string }
events:
  host.seen: { payload: { address: Address }, examples: [{ address: 192.0.2.1 }] }`,
	Good: `
events:
  host.seen: { payload: { address: { type: string, format: ip } } }`,
}

var enumValueRemoved = Rule{
	ID: "enum-value-removed", Severity: lint.Warning, Direction: Backward,
	Purpose: "Old rows hold a value that switches over the enum do not expect any more.",
	Before: `
types:
  Currency: { enum: [EUR, USD] }
events:
  order.placed: { payload: { currency: Currency } }`,
	Bad: `
types:
  Currency: { enum: [EUR] }
events:
  order.placed: { payload: { currency: Currency } }`,
	Good: `
types:
  Currency: { enum: { USD: { deprecated: we have left }, EUR: {} } }
events:
  order.placed: { payload: { currency: Currency } }`,
}

var enumValueAdded = Rule{
	ID: "enum-value-added", Severity: lint.Warning, Direction: Forward,
	Purpose: "New rows hold a value that switches over the enum in old programs do not expect.",
	Before: `
types:
  Currency: { enum: [EUR, USD] }
events:
  order.placed: { payload: { currency: Currency } }`,
	Bad: `
types:
  Currency: { enum: [EUR, USD, JPY] }
events:
  order.placed: { payload: { currency: Currency } }`,
	Good: `
types:
  Currency: { enum: [USD, EUR] }
events:
  order.placed: { payload: { currency: Currency } }`,
}

var enumRenumbered = Rule{
	ID: "enum-renumbered", Severity: lint.Error, Direction: Both,
	Purpose: "The number is what is stored. Under another number, rows mean another value.",
	Before: `
types:
  Level: { enum: { low: 1, high: 2 } }
events:
  alarm.raised: { payload: { level: Level } }`,
	Bad: `
types:
  Level: { enum: { low: 1, normal: 2, high: 3 } }
events:
  alarm.raised: { payload: { level: Level } }`,
	Good: `
types:
  Level: { enum: { small: 1, high: 2 } }
events:
  alarm.raised: { payload: { level: Level } }`,
}

var variantRemoved = Rule{
	ID: "variant-removed", Severity: lint.Error, Direction: Backward,
	Purpose: "A union does not decode as a variant that it does not have.",
	Before: `
types:
  Payment: { one_of: { card: { fields: { last_four: string } }, cash: { fields: {} } } }
events:
  order.paid: { payload: { payment: Payment } }`,
	Bad: `
types:
  Payment: { one_of: { card: { fields: { last_four: string } } } }
events:
  order.paid: { payload: { payment: Payment } }`,
	Good: `
types:
  Payment: { one_of: { cash: { fields: {} }, card: { fields: { last_four: string } } } }
events:
  order.paid: { payload: { payment: Payment } }`,
}

var variantAdded = Rule{
	ID: "variant-added", Severity: lint.Error, Direction: Forward,
	Purpose: "Old programs do not decode a variant that they do not know.",
	Before:  variantRemoved.Before,
	Bad: `
types:
  Payment: { one_of: { card: { fields: { last_four: string } }, cash: { fields: {} }, invoice: { fields: {} } } }
events:
  order.paid: { payload: { payment: Payment } }`,
	Good: variantRemoved.Good,
}

var discriminatorChanged = Rule{
	ID: "discriminator-changed", Severity: lint.Error, Direction: Both,
	Purpose: "The discriminator is the key by which a union is told what it is.",
	Before:  variantRemoved.Before,
	Bad: `
types:
  Payment: { discriminator: kind, one_of: { card: { fields: { last_four: string } }, cash: { fields: {} } } }
events:
  order.paid: { payload: { payment: Payment } }`,
	Good: `
types:
  Payment: { discriminator: type, one_of: { card: { fields: { last_four: string } }, cash: { fields: {} } } }
events:
  order.paid: { payload: { payment: Payment } }`,
}

var constraintTightened = Rule{
	ID: "constraint-tightened", Severity: lint.Note, Direction: Backward,
	Purpose: "Old rows are delivered all the same, but cannot be corrected or imported unless they keep the constraint.",
	Before: `
events:
  order.placed: { payload: { number: { type: int64, min: 1 } } }`,
	Bad: `
events:
  order.placed: { payload: { number: { type: int64, min: 100, max: 9999 } } }`,
	Good: `
events:
  order.placed: { payload: { number: { type: int64, min: 0 } } }`,
}

var defaultChanged = Rule{
	ID: "default-changed", Severity: lint.Note, Direction: Backward,
	Purpose: "Old rows that lack the field mean something else from now on.",
	Before: `
events:
  order.placed: { payload: { copies: { type: "int?", default: 1 } } }`,
	Bad: `
events:
  order.placed: { payload: { copies: { type: "int?", default: 2 } } }`,
	Good: `
events:
  order.placed: { payload: { copies: { type: "int?", default: 1, doc: Of the receipt. } } }`,
}

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
	Purpose: "What a subscription has not handled yet of its former event is no longer delivered to it.",
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
