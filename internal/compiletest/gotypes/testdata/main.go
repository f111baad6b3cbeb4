package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/gofrs/uuid/v5"
	"github.com/shopspring/decimal"

	"example.com/cases/events"
	"example.com/cases/plain"
	"example.com/cases/team"
)

var (
	ctx = context.Background()
	id  = uuid.Must(uuid.FromString("018f4f2e-0000-7000-8000-000000000001"))
)

func main() {
	map[string]func(path string){"publish": publish, "crash": crash, "handle": handle, "plain": usual, "foreign": foreign, "unread": unread}[os.Args[1]](os.Args[2])
}

func placed() events.OrderPlaced {
	of := events.Price(dec("3"))
	return events.OrderPlaced{
		ID: id, OrderID: events.OrderID(id), Total: dec("12.50"), Amounts: []decimal.Decimal{dec("-1"), dec("0.001")},
		ByName: map[string][]decimal.Decimal{"a": {dec("1e3")}}, Day: team.On("2024-02-29"), Wait: &team.Span{90 * time.Second},
		Lines: []events.OrderPlacedLines{{Amount: dec("7"), Of: &of}, {Amount: dec("8")}},
	}
}

func paid() events.OrderPaid {
	card := events.MeansCard{Limit: dec("99.99"), Until: team.On("2030-12-31"), Prices: map[string]events.Price{"a": events.Price(dec("0.10"))}}
	return events.OrderPaid{ID: events.OrderID(id), Means: card, Total: dec("123456789012345678901234567890.5")}
}

func publish(path string) {
	bus := opened(events.Open(ctx, path))
	defer bus.Shutdown(ctx)
	_, err := events.PublishOrderPaid(ctx, bus, paid())
	fmt.Println(err)
	receipt, err := events.PublishOrderPlaced(ctx, bus, placed())
	fmt.Println(err, receipt != nil && receipt.Duplicate)
	again, err := events.PublishOrderPlaced(ctx, bus, placed())
	fmt.Println(err, again != nil && again.Duplicate)

	refused := func(change func(*events.OrderPlaced)) {
		p := placed()
		change(&p)
		_, err := events.PublishOrderPlaced(ctx, bus, p)
		var invalid *runtime.InvalidPayloadError
		fmt.Println(errors.As(err, &invalid), err)
	}
	refused(func(p *events.OrderPlaced) { p.Total = dec("1000.01") })
	refused(func(p *events.OrderPlaced) { low := events.Price(dec("0")); p.Price = &low })
	refused(func(p *events.OrderPlaced) { p.Amounts = []decimal.Decimal{dec("1.5"), dec("101"), dec("1.50")} })
	refused(func(p *events.OrderPlaced) { p.Day = team.Day{} })
	refused(func(p *events.OrderPlaced) { p.Day = team.On("1998-01-01") })
	refused(func(p *events.OrderPlaced) { p.Day = team.On("1999-01-01") })
	refused(func(p *events.OrderPlaced) { p.Wait = new(team.Span) })
	refused(func(p *events.OrderPlaced) { p.Wait = &team.Span{2 * time.Hour} })
	decimal.UseScientificNotation = true
	refused(func(p *events.OrderPlaced) { p.Total = dec("1e3") })
	decimal.UseScientificNotation = false
	decimal.MarshalJSONWithoutQuotes = true
	refused(func(p *events.OrderPlaced) { p.Amounts, p.ByName, p.Lines = nil, nil, nil })
}

// crash dies while it handles.
func crash(path string) {
	run(opened(events.Open(ctx, path)), 2, func(bus *runtime.Bus, done func()) {
		check(events.SubscribeOrderPlaced(bus, events.OnOrderPlacedSendReceipt, func(context.Context, runtime.Event[events.OrderPlaced]) error {
			os.Exit(0)
			return nil
		}))
	})
}

func handle(path string) {
	run(opened(events.Open(ctx, path)), 2, func(bus *runtime.Bus, done func()) {
		check(events.SubscribeOrderPlaced(bus, events.OnOrderPlacedSendReceipt, func(_ context.Context, e runtime.Event[events.OrderPlaced]) error {
			defer done()
			p := e.Payload
			fmt.Println("placed", e.Attempt > 1, runtime.Equal(p, placed()), runtime.Equal(runtime.Clone(p), p), p.Total.Mul(dec("2")), p.ID, p.PriceOrDefault(), p.Day.At.Weekday())
			return nil
		}))
		check(events.SubscribeOrderPaid(bus, events.OnOrderPaidKeepBooks, func(_ context.Context, e runtime.Event[events.OrderPaid]) error {
			defer done()
			fmt.Println("paid", runtime.Equal(e.Payload, paid()), e.Payload.Total)
			return nil
		}))
	})
}

// usual is the program without go_types. It makes dead letters with the JSON that it would store itself.
func usual(path string) {
	run(opened(plain.Open(ctx, path)), 2, func(bus *runtime.Bus, done func()) {
		check(plain.SubscribeOrderPlaced(bus, plain.OnOrderPlacedAudit, func(_ context.Context, e runtime.Event[plain.OrderPlaced]) error {
			defer done()
			return encoded(e.Payload)
		}))
		check(plain.SubscribeOrderPaid(bus, plain.OnOrderPaidCheckBooks, func(_ context.Context, e runtime.Event[plain.OrderPaid]) error {
			defer done()
			return encoded(e.Payload)
		}))
	})
}

// foreign publishes what the program with go_types cannot read, and then what it can.
func foreign(path string) {
	bus := opened(plain.Open(ctx, path))
	defer bus.Shutdown(ctx)
	for i, day := range []runtime.Date{{Year: 1996, Month: 7, Day: 19}, {Year: 1997, Month: 1, Day: 1}, {Year: 2024, Month: 2, Day: 29}} {
		_, err := plain.PublishOrderPlaced(ctx, bus, plain.OrderPlaced{ID: [16]byte(id), OrderID: plain.OrderID{15: byte(i)}, Total: "12.50", Day: day})
		fmt.Println(err)
	}
}

func unread(path string) {
	run(opened(events.Open(ctx, path)), 1, func(bus *runtime.Bus, done func()) {
		check(events.SubscribeOrderPlaced(bus, events.OnOrderPlacedSendReceipt, func(_ context.Context, e runtime.Event[events.OrderPlaced]) error {
			fmt.Println(e.Payload.Day.At.Year(), e.Payload.Total)
			done()
			return nil
		}))
	})
}

func encoded(payload runtime.Payload) error {
	text, err := json.Marshal(payload)
	return runtime.Permanent(errors.Join(payload.Validate(), err, errors.New(string(text))))
}

// run returns when handlers have called done so many times.
func run(bus *runtime.Bus, events int, subscribe func(bus *runtime.Bus, done func())) {
	var handled sync.WaitGroup
	handled.Add(events)
	subscribe(bus, handled.Done)
	if err := bus.Start(ctx); err != nil {
		panic(err)
	}
	handled.Wait()
	if err := bus.Shutdown(ctx); err != nil {
		panic(err)
	}
}

func opened(bus *runtime.Bus, err error) *runtime.Bus {
	if err != nil {
		panic(err)
	}
	return bus
}

func check(_ *runtime.Subscription, err error) {
	if err != nil {
		panic(err)
	}
}

func dec(text string) decimal.Decimal { return decimal.RequireFromString(text) }
