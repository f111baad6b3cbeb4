// Command headers publishes events with and without the headers of its catalogue.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/google/uuid"

	"example.com/cases/events"
	"example.com/cases/events/payments"
	"github.com/busgen/busgen/runtime"
)

var request = uuid.MustParse("018f4f2e-0000-7000-8000-000000000001")

func main() {
	ctx := context.Background()
	bus, err := events.Open(ctx, os.Args[1])
	fail(err)
	published, handled := make(chan bool), make(chan bool)
	_, err = events.SubscribeOrderPlaced(bus, "orders", func(ctx context.Context, e runtime.Event[events.OrderPlaced]) error {
		<-published
		tenant, err := events.TenantOf(e.Metadata)
		id, missing := events.RequestIDOf(e.Metadata)
		fmt.Println("order", e.Payload.Number, "of", tenant, err, id, errors.Is(missing, runtime.ErrNoHeader))
		_, err = payments.PublishPaymentReceived(ctx, bus, payments.PaymentReceived{Number: e.Payload.Number})
		fmt.Println("in the handler:", err)
		if e.Payload.Number == 2 {
			close(handled)
		}
		return nil
	})
	fail(err)
	fail(bus.Start(ctx))

	publish := func(opts ...runtime.PublishOption) {
		_, err := events.PublishOrderPlaced(ctx, bus, events.OrderPlaced{Number: 1 + len(opts)%2}, opts...)
		fmt.Println(err)
	}
	publish()
	publish(runtime.WithMetadata(map[string]string{events.HeaderTenant: "acme", events.HeaderRequestID: "7"}))
	publish(events.WithTenant("acme"))
	close(published)
	<-handled
	_, err = events.PublishSystemStarted(ctx, bus, events.SystemStarted{})
	fmt.Println(err)
	_, err = payments.PublishPaymentReceived(ctx, bus, payments.PaymentReceived{}, events.WithTenant("acme"), events.WithAmount("1.50"), events.WithPage(3), events.WithRequestID(request))
	fmt.Println(err)
	_, err = payments.PublishPaymentReceived(ctx, bus, payments.PaymentReceived{}, events.WithTenant("acme"), events.WithAmount("1,50"))
	fmt.Println(err)
	fail(bus.Shutdown(ctx))
}

func fail(err error) {
	if err != nil {
		panic(err)
	}
}
