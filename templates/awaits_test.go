package templates

import "testing"

func TestHandlersWaitForEventsOfAKey(t *testing.T) {
	c := parsed(t, `
types:
  OrderID: uuid
events:
  parcel.scanned: { doc: It left the warehouse., await_by: order_id, payload: { order_id: OrderID, code: string } }
  order.placed: {}
`)
	emits(t, `
// AwaitParcelScanned waits for the first parcel.scanned with this order_id that
// is published after the event that is being handled. See [step.Await].
//
// It left the warehouse.
func AwaitParcelScanned(ctx context.Context, name string, key OrderID, within time.Duration, opts ...step.Option) (runtime.Event[ParcelScanned], error) {
	return step.Await(ctx, name, ParcelScannedType, bind.Key(key), within, opts...)
}
`, awaits(c)...)
}
