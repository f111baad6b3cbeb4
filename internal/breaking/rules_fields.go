package breaking

import "github.com/busgen/busgen/internal/lint"

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
