package templates

import "testing"

func TestPublishFunctionsAreOneLine(t *testing.T) {
	c := parsed(t, `
events:
  order.placed:
    doc: A customer placed an order.
`)
	emits(t, `
// PublishOrderPlaced publishes one order.placed: without an error it is on
// disk. See [runtime.Publish].
//
// A customer placed an order.
func PublishOrderPlaced(ctx context.Context, to runtime.Publisher, payload OrderPlaced, opts ...runtime.PublishOption) (*runtime.Receipt, error) {
	return bind.Publish(ctx, to, OrderPlacedType, &payload, opts)
}
`, publish(c)...)
}
