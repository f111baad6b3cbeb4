// A program with code that was generated for contract 7, whose enums, unions, checks, steps between versions and answers
// call generic functions of the runtime. It prints what it sees.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/gen/wire"

	"example.com/cases/events"
)

func main() {
	ctx := context.Background()
	old := runtime.Describe[events.OrderPlacedV1](&runtime.Description{Name: "order.placed"})
	before := must(runtime.Open(ctx, os.Args[1], runtime.NewCatalogue(old)))
	must(runtime.Publish(ctx, before, old, events.OrderPlacedV1{Amount: 7}))
	check(before.Shutdown(ctx))

	bus := must(events.Open(ctx, os.Args[1]))
	order := events.OrderPlaced{
		OrderID: uuid.UUID{15: 1}, Total: events.Money{Amount: 100, Currency: events.CurrencyEUR}, Terms: events.Terms{Currency: events.CurrencyUSD},
		Paid: events.PaymentCard{Digits: "1", Level: events.LevelHigh}, Level: events.LevelLow, Big: *big.NewInt(5), Notes: []string{"a"}, Count: 1, Price: "1",
	}
	must(events.PublishOrderPlaced(ctx, bus, order))
	order.Notes, order.Count, order.Share, order.Wait, order.Price = []string{"a", "a"}, 0, 1, runtime.Duration(2*time.Hour), "-1"
	order.Currencies, order.Paid = []events.Currency{"EUR", "EUR"}, nil
	_, err := events.PublishOrderPlaced(ctx, bus, order)
	fmt.Println(err)
	plain := events.PlainSent{
		Currency: "USD", Level: events.LevelHigh, All: events.AllCurrency(), Named: map[string]events.Level{"a": events.LevelLow},
		Terms: events.Terms{Currency: "EUR", Others: events.AllCurrency(), ByName: map[string]events.Currency{"b": "USD"}, Maybe: new(events.CurrencyEUR)},
	}
	must(events.PublishPlainSent(ctx, bus, plain))
	fmt.Println("without encoding/json:", wire.NewCodec[events.Terms]().Generated())

	must(events.SubscribeOrderPlaced(bus, "books", func(_ context.Context, e runtime.Event[events.OrderPlaced]) error {
		fmt.Printf("order.placed of version %d: %s\n", e.Version, must(json.Marshal(e.Payload)))
		return nil
	}, runtime.FromBeginning(), runtime.WithConcurrency(1)))
	must(events.AnswerQuoteRequested(bus, "quote", func(_ context.Context, e runtime.Event[events.QuoteRequested]) (events.Money, error) {
		return events.Money{Amount: int64(len(e.Payload.SKU)), Currency: events.CurrencyUSD}, nil
	}))
	must(events.AnswerWayAsked(bus, "way", func(_ context.Context, e runtime.Event[events.WayAsked]) (events.Payment, error) {
		if e.Payload.From == "nowhere" {
			return nil, nil
		}
		return events.PaymentCash{}, nil
	}))
	check(bus.Start(ctx))
	check(bus.WaitIdle(ctx))
	must(events.SubscribePlainSent(bus, "plain", func(_ context.Context, e runtime.Event[events.PlainSent]) error {
		fmt.Printf("plain.sent: %s, the same: %v\n", must(json.Marshal(e.Payload)), runtime.Equal(e.Payload, plain))
		return nil
	}, runtime.FromBeginning()))
	check(bus.WaitIdle(ctx))
	fmt.Printf("the answer is %+v\n", must(events.RequestQuoteRequested(ctx, bus, events.QuoteRequested{SKU: "lamp"})))
	fmt.Printf("the answers are %+v\n", must(events.CollectQuoteRequested(ctx, bus, events.QuoteRequested{SKU: "desk"})))
	fmt.Printf("the ways are %T and %T\n", must(events.RequestWayAsked(ctx, bus, events.WayAsked{From: "here"})), must(events.RequestWayAsked(ctx, bus, events.WayAsked{From: "nowhere"})))
	check(bus.WaitIdle(ctx))
	check(bus.Shutdown(ctx))
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
