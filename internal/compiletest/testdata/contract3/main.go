// A program with code that was generated for contract 3, before settings were shared. It prints what it sees.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"

	"example.com/cases/events"
)

func main() {
	ctx := context.Background()
	bus := must(events.Open(ctx, os.Args[1]))
	order := events.OrderPlaced{OrderID: uuid.UUID{15: 1}, Total: events.Money{Amount: 100, Currency: events.CurrencyEUR}, Notes: []string{"fast"}}
	must(events.PublishOrderPlaced(ctx, bus, order))
	if again := must(events.PublishOrderPlaced(ctx, bus, order)); again.Duplicate {
		fmt.Println("the second one is a duplicate")
	}
	must(events.SubscribeOrderPlaced(bus, events.OnOrderPlacedChargeCard, func(_ context.Context, e runtime.Event[events.OrderPlaced]) error {
		fmt.Printf("%s: %+v, attempt %d of %d\n", e.Type, e.Payload, e.Attempt, e.MaxAttempts)
		return nil
	}))
	must(events.AnswerQuoteRequested(bus, "quote", func(_ context.Context, e runtime.Event[events.QuoteRequested]) (events.Money, error) {
		return events.Money{Amount: int64(len(e.Payload.SKU)), Currency: events.CurrencyUSD}, nil
	}))
	check(bus.Start(ctx))
	check(bus.WaitIdle(ctx))
	answer := must(events.RequestQuoteRequested(ctx, bus, events.QuoteRequested{SKU: "lamp"}))
	fmt.Printf("the answer is %+v\n", answer)
	check(bus.WaitIdle(ctx))
	check(bus.Shutdown(ctx))
	for _, s := range events.OrderPlacedType.Any().Subscriptions() {
		fmt.Printf("%s: timeout %v, %d attempts, limits %v, errors %d, redrive %d\n", s.Name, s.Settings.Timeout, s.Settings.Retry.MaxAttempts, s.Settings.Limits, len(s.Settings.Errors), s.Settings.Redrive.Max)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
