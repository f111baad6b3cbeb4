package breaking

import "github.com/busgen/busgen/internal/lint"

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
