package conformance

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
)

// scanned is the payload of parcel.scanned, for which handlers can wait by the order.
type scanned struct {
	OrderID string `json:"order_id"`
}

func (scanned) Validate() error { return nil }

// ScannedType is a type with await_by.
var ScannedType = runtime.Define(runtime.Spec[scanned]{
	Name: "parcel.scanned", Settings: Within(30*time.Second, Exact()), AwaitBy: []string{"order_id"},
})

// PublishScanned publishes a parcel of an order.
func PublishScanned(t *testing.T, bus *runtime.Bus, order string) {
	t.Helper()
	_, err := runtime.Publish(t.Context(), bus, ScannedType, scanned{order})
	Must(t, err)
}

// Engines that keep no keys accept types that have them.
func (env *Env) TestEventsWithAKeyToWaitByAreDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(ScannedType, PlacedType))
		var handled Journal[string]
		_, err := runtime.Subscribe(f.Bus, ScannedType, "count", func(_ context.Context, e runtime.Event[scanned]) error {
			handled.Add(e.Payload.OrderID)
			return nil
		})
		Must(t, err)
		f.MustStart()
		for _, order := range []string{"a", "", "b"} {
			PublishScanned(t, f.Bus, order)
		}
		f.Idle()
		handled.wants(t, "a", "", "b")
	})
}
