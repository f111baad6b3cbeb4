package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/ask"
)

// fetches answers as a carrier does that needs some time to think.
func fetches(carrier events.Carrier, thinking time.Duration) runtime.AnswerHandler[events.ParcelPickup, events.Pickup] {
	return func(ctx context.Context, e runtime.Event[events.ParcelPickup]) (events.Pickup, error) {
		select {
		case <-time.After(thinking):
			return events.Pickup{Carrier: carrier, ExpectedOn: runtime.DateOf(e.PublishedAt)}, nil
		case <-ctx.Done():
			return events.Pickup{}, context.Cause(ctx)
		}
	}
}

// The first answer counts, and nobody goes on working for nothing.
func ExampleRequest() {
	path, remove := exampleFile()
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)
	events.AnswerParcelPickup(bus, "dhl", fetches(events.CarrierDHL, time.Minute))
	events.AnswerParcelPickup(bus, "ups", fetches(events.CarrierUPS, time.Millisecond))
	bus.Start(ctx)

	pickup, err := events.RequestParcelPickup(ctx, bus, events.ParcelPickup{OrderID: customer}) // runtime.Request
	fmt.Println(pickup.Carrier, err)
	// Output: UPS <nil>
}

// All answers, as they come, and the errors of those who have none.
func ExampleCollect() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)
	events.AnswerParcelPickup(bus, "dhl", fetches(events.CarrierDHL, 20*time.Millisecond))
	events.AnswerParcelPickup(bus, "ups", fetches(events.CarrierUPS, 0))
	events.AnswerParcelPickup(bus, "postnl",
		func(context.Context, runtime.Event[events.ParcelPickup]) (events.Pickup, error) {
			return events.Pickup{}, runtime.Permanent(errors.New("on strike"))
		})
	bus.Start(ctx)

	offers, err := events.CollectParcelPickup(ctx, bus, events.ParcelPickup{OrderID: customer}, // runtime.Collect
		runtime.AnswersWithin(5*time.Second))
	for _, offer := range offers {
		fmt.Println(offer.Subscription, "offers", offer.Value.Carrier)
	}
	fmt.Println(err)
	// Output:
	// ups offers UPS
	// dhl offers DHL
	// subscription "postnl" has not answered: on strike
}

// A handler that cannot tell says so, and another one may.
func ExampleSubscribeAnswer() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)
	events.AnswerParcelPickup(bus, "dhl", // runtime.SubscribeAnswer
		func(context.Context, runtime.Event[events.ParcelPickup]) (events.Pickup, error) {
			return events.Pickup{}, ask.ErrNoAnswer // no van today
		})
	bus.Start(ctx)

	_, err := events.RequestParcelPickup(ctx, bus, events.ParcelPickup{OrderID: customer})
	fmt.Println(errors.Is(err, ask.ErrNoAnswer))
	// Output: true
}
