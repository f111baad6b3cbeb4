package conformance

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
)

// Scanned is the payload of parcel.scanned, for which handlers can wait by the order.
type Scanned struct {
	OrderID string `json:"order_id"`
	Code    int    `json:"code,omitempty"`
}

func (Scanned) Validate() error { return nil }

// Lost is the payload of parcel.lost.
type Lost struct {
	OrderID string `json:"order_id"`
	Code    int    `json:"code,omitempty"`
}

func (Lost) Validate() error { return nil }

// ScannedType and LostType are types with await_by.
var (
	ScannedType = runtime.Define(runtime.Spec[Scanned]{
		Name: "parcel.scanned", Settings: Within(30*time.Second, Exact()), AwaitBy: []string{"order_id"},
	})
	LostType = runtime.Define(runtime.Spec[Lost]{
		Name: "parcel.lost", Settings: Within(30*time.Second, Exact()), AwaitBy: []string{"order_id"},
	})
)

// Parcels is the catalogue of those who wait for parcels.
var Parcels = runtime.NewCatalogue(PlacedType, ScannedType, LostType)

// PublishScanned publishes a parcel of an order.
func PublishScanned(t *testing.T, bus *runtime.Bus, order string) {
	t.Helper()
	scan(t, bus, order, 0)
}

// scan publishes a parcel of an order, with a code.
func scan(t *testing.T, bus *runtime.Bus, order any, code int) *runtime.Receipt {
	t.Helper()
	receipt, err := runtime.Publish(t.Context(), bus, ScannedType, Scanned{fmt.Sprint(order), code})
	Must(t, err)
	return receipt
}

// Engines that keep no keys accept types that have them.
func (env *Env) TestEventsWithAKeyToWaitByAreDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(ScannedType, PlacedType))
		var handled Journal[string]
		_, err := runtime.Subscribe(f.Bus, ScannedType, "count", func(_ context.Context, e runtime.Event[Scanned]) error {
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
