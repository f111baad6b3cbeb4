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
  order.placed: { payload: { order_id: uuid, email: "string?", copies: { type: int, default: 1 } } }`,
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
  order.placed: { payload: { order_id: uuid, email: { type: string, deprecated: Nobody reads it. }, note: "string?" } }`,
}

var fieldRenamed = Rule{
	ID: "field-renamed", Severity: lint.Warning, Direction: Both,
	Purpose: "The name of a field is its key in stored JSON: a field that goes while another comes was renamed (was) or removed (reserved).",
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

var wasRemoved = Rule{
	ID: "was-removed", Severity: lint.Warning, Direction: Backward,
	Purpose: "Rows from before a rename are read by the former name of the field only.",
	Before: `
events:
  order.placed: { payload: { email: { type: string, was: mail } } }`,
	Bad: `
events:
  order.placed: { payload: { email: string } }`,
	Good: `
events:
  order.placed: { payload: { customer_email: { type: string, was: [email, mail] } } }`,
}

var wasMoved = Rule{
	ID: "was-moved", Severity: lint.Error, Direction: Backward,
	Purpose: "What rows hold under a former name is read as another field than the one that it was.",
	Before: `
events:
  order.placed: { payload: { email: { type: string, was: mail }, note: "string?" } }`,
	Bad: `
events:
  order.placed: { payload: { email: string, note: { type: "string?", was: mail } } }`,
	Good: `
events:
  order.placed: { payload: { note: "string?", email: { type: string, was: mail } } }`,
}

var reservedRemoved = Rule{
	ID: "reserved-removed", Severity: lint.Warning, Direction: Backward,
	Purpose: "Rows may still hold the value of a removed field, which another field of the name would read.",
	Before: `
events:
  order.placed: { reserved: [note], payload: { order_id: uuid } }`,
	Bad: `
events:
  order.placed: { payload: { order_id: uuid, note: "string?" } }`,
	Good: `
events:
  order.placed: { reserved: [note, remark], payload: { order_id: uuid, comment: "string?" } }`,
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
  order.placed: { payload: { email: { type: string, default: none } } }`,
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
	ID: "default-changed", Severity: lint.Warning, Direction: Backward,
	Purpose: "Old rows that lack the field mean something else from now on, or are read with the zero value.",
	Before: `
events:
  order.placed: { payload: { copies: { type: int, default: 1 } } }`,
	Bad: `
events:
  order.placed: { payload: { copies: int } }`,
	Good: `
events:
  order.placed: { payload: { copies: { type: int, default: 1, doc: Of the receipt. } } }`,
}
