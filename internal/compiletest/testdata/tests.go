package shop

import (
	"testing"

	"example.com/shop/events"
	"example.com/shop/events/eventstest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/runtimetest"
)

func testShop(t *testing.T) {
	eventstest.Run(t, func(t *testing.T, kit *runtimetest.Kit) {
		kit.Setup(subscribe)
		kit.Publish(eventstest.SampleOrderPlaced())
		kit.Publish(eventstest.Samples()...)
		kit.Drain()
		placed := eventstest.Published[events.OrderPlaced](kit)
		dead := eventstest.DeadLetters[events.OrderPaid](kit)
		if len(placed) != 2 || len(dead) != 0 {
			t.Error(len(placed), dead)
		}
		requireCancelled(t, eventstest.Published[events.OrderCancelled](kit))
	})
}

func requireCancelled(t *testing.T, cancelled []runtime.Event[events.OrderCancelled]) {
	t.Helper()
	if len(cancelled) != 1 {
		t.Error(cancelled)
	}
}
