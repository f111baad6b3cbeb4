package breaking

import (
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

var eventRemoved = Rule{
	Rule: rules.EventRemoved, Direction: diag.Backward,
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
	Rule: rules.EventAdded, Direction: diag.Forward,
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
	Rule: rules.AliasRemoved, Direction: diag.Backward,
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
	Rule: rules.AliasMoved, Direction: diag.Backward,
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
	Rule: rules.VersionRaised, Direction: diag.Forward,
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
	Rule: rules.VersionLowered, Direction: diag.Backward,
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
	Rule: rules.HistoryDropped, Direction: diag.Backward,
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
	Rule: rules.HistoryEdited, Direction: diag.Backward,
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
