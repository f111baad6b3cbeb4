package breaking

import "github.com/busgen/busgen/internal/lint"

var typeChanged = Rule{
	ID: "type-changed", Severity: lint.Error, Direction: Both,
	Purpose: "JSON of another type does not decode, or decodes to another value: a string is no number, and a float64 rounds a large one.",
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
  Price: { fields: { currency: string, amount: { type: int32, min: 0 } } }
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
