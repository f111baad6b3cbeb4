// This program publishes values of types that busgen has not generated, in every
// place of a payload, and makes dead letters of what it has published.
package main

import (
	"context"
	"fmt"
	"math/big"
	"net/netip"
	"net/url"
	"os"
	"time"

	"example.com/cases/events"
	"example.com/cases/odd"

	"github.com/busgen/busgen/runtime"
)

var ctx = context.Background()

func main() {
	bus, err := events.Open(ctx, os.Args[1])
	must(err)
	published := numbers()
	_, err = events.SubscribeNumberSent(bus, "look", func(_ context.Context, e runtime.Event[events.NumberSent]) error {
		return runtime.Permanent(fmt.Errorf("it is the same: %t", runtime.Equal(e.Payload, published)))
	})
	must(err)
	must(bus.Start(ctx))
	_, err = events.PublishNumberSent(ctx, bus, published)
	must(err)
	must(bus.WaitIdle(ctx))

	link, err := url.Parse("https://ada:secret@example.org/")
	must(err)
	without, err := url.Parse("https://example.org/")
	must(err)
	precise, _, err := big.ParseFloat("1267650600228229401496703205377", 10, 200, big.ToNearestEven)
	must(err)
	sealed := odd.NewSealed("x")
	for _, wrong := range []events.OddSent{
		{Link: without, Picky: map[string]odd.Picky{"a": {Text: "full"}}},
		{Link: link},
		{Precise: []big.Float{*big.NewFloat(0.5), *precise}},
		{Sealed: &sealed},
		{WriteOnly: &odd.WriteOnly{N: 3}},
		{Angry: &odd.Angry{N: 3}},
		{Picky: map[string]odd.Picky{"a": {}}},
	} {
		_, err := events.PublishOddSent(ctx, bus, wrong)
		fmt.Println(err)
	}
	must(bus.Shutdown(ctx))
}

func numbers() events.NumberSent {
	n := func(n int64) big.Int { return *big.NewInt(n) }
	maybe := n(2)
	zero := *new(big.Int).Sub(big.NewInt(5), big.NewInt(5)) // which is not made as NewInt(0) is
	price := events.PriceFixed{N: n(20), More: []big.Int{n(21)}, Named: map[string]big.Int{"a": n(22)}, Maybe: &maybe, Zero: &odd.Zero{}, At: &time.Time{}, Amount: &events.Amount{}}
	return events.NumberSent{
		Own: n(1), Maybe: &maybe, List: []big.Int{n(3), zero}, Named: map[string]big.Int{"a": n(4)},
		Lists:  map[string][]big.Int{"a": {n(5)}},
		Maps:   []map[string]big.Int{{"a": n(6)}},
		Amount: events.Amount{Value: n(7)}, Amounts: map[string]events.Amount{"a": {Value: n(8)}},
		Price: price, Prices: map[string]events.Price{"a": price, "b": events.PriceFree{}},
		Address: map[string]netip.Addr{"a": netip.MustParseAddr("::1")},
		Ints:    map[string]odd.Ints{"a": odd.Of(9, 10)},
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
