package breaking

import (
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

var fieldAdded = Rule{
	Rule: rules.FieldAdded, Direction: diag.Backward,
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
	Rule: rules.FieldRemoved, Direction: diag.Forward,
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
	Rule: rules.FieldRenamed, Direction: diag.Both,
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
	Rule: rules.WasRemoved, Direction: diag.Backward,
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
	Rule: rules.WasMoved, Direction: diag.Backward,
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
	Rule: rules.ReservedRemoved, Direction: diag.Backward,
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
	Rule: rules.FieldRequired, Direction: diag.Backward,
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
	Rule: rules.FieldOptional, Direction: diag.Forward,
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
	Rule: rules.ConstraintTightened, Direction: diag.Backward,
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
	Rule: rules.DefaultChanged, Direction: diag.Backward,
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
