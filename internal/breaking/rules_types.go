package breaking

import (
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

var typeChanged = Rule{
	Rule: rules.TypeChanged, Direction: diag.Both,
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
	Rule: rules.CustomChanged, Direction: diag.Both,
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
	Rule: rules.EnumValueRemoved, Direction: diag.Backward,
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
	Rule: rules.EnumValueAdded, Direction: diag.Forward,
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
	Rule: rules.EnumRenumbered, Direction: diag.Both,
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
	Rule: rules.VariantRemoved, Direction: diag.Backward,
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
	Rule: rules.VariantAdded, Direction: diag.Forward,
	Before: variantRemoved.Before,
	Bad: `
types:
  Payment: { one_of: { card: { fields: { last_four: string } }, cash: { fields: {} }, invoice: { fields: {} } } }
events:
  order.paid: { payload: { payment: Payment } }`,
	Good: variantRemoved.Good,
}

var discriminatorChanged = Rule{
	Rule: rules.DiscriminatorChanged, Direction: diag.Both,
	Before: variantRemoved.Before,
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
