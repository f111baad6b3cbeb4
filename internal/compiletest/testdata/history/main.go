// A program that is deployed three times, with another catalogue each time, on one
// file. It prints what the last one of them sees.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/busgen/busgen/runtime"

	"example.com/cases/v1"
	"example.com/cases/v2"
	"example.com/cases/v3"
)

func main() {
	ctx, path := context.Background(), os.Args[1]
	first := must(v1.Open(ctx, path))
	must(v1.PublishShopOrder(ctx, first, v1.ShopOrder{Order: "1", Total: 100}))
	check(first.Shutdown(ctx))

	second := must(v2.Open(ctx, path))
	must(v2.PublishShopOrder(ctx, second, v2.ShopOrder{Order: "2", Total: v2.Money{Amount: 200, Currency: "USD"}}))
	must(v2.PublishShopOrder(ctx, second, v2.ShopOrder{Order: "two", Total: v2.Money{Amount: 200, Currency: "USD"}}))
	check(second.Shutdown(ctx))

	third := must(v3.Open(ctx, path))
	must(v3.PublishOrderPlaced(ctx, third, v3.OrderPlaced{Number: 3, Total: v3.Money{Amount: 300, Currency: "JPY"}}))
	must(v3.SubscribeOrderPlaced(third, v3.OnOrderPlacedSendReceipt, func(_ context.Context, e runtime.Event[v3.OrderPlaced]) error {
		fmt.Printf("%s version %d: number %d, %d %s\n", e.Type, e.Version, e.Payload.Number, e.Payload.Total.Amount, e.Payload.Total.Currency)
		return nil
	}))
	check(third.Start(ctx))
	check(third.WaitIdle(ctx))
	check(third.Shutdown(ctx))
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
