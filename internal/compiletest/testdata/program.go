// Package shop uses generated code as it is meant to be used. Every wrong
// program of the tests is this one with a single line changed.
package shop

import (
	"context"

	"github.com/google/uuid"

	"example.com/other"
	"example.com/shop/events"
	"github.com/busgen/busgen/runtime"
)

func place(ctx context.Context, bus *runtime.Bus, id uuid.UUID) error {
	note := "leave it at the door"
	order := events.OrderPlaced{
		OrderID: id,
		Total:   events.Money{Amount: 1999, Currency: events.CurrencyEUR},
		Note:    &note,
	}
	_, err := events.PublishOrderPlaced(ctx, bus, order, events.WithRequestID(id))
	return err
}

func cancel(ctx context.Context, bus *runtime.Bus, orders []events.OrderCancelled) error {
	_, err := runtime.PublishBatch(ctx, bus, events.OrderCancelledType, orders)
	return err
}

func subscribe(bus *runtime.Bus) error {
	if _, err := events.SubscribeOrderPlaced(bus, "send-receipt", sendReceipt); err != nil {
		return err
	}
	if _, err := events.SubscribeOrderCancelled(bus, events.OnOrderCancelledRestock, restock); err != nil {
		return err
	}
	if _, err := events.SubscribeOrderCancelled(bus, events.UndeclaredOrderCancelled("tell"), restock); err != nil {
		return err
	}
	println(other.OnOrderCancelledRestock.String())
	_, err := events.SubscribeOrder(bus, "audit", audit)
	return err
}

func restock(context.Context, runtime.Event[events.OrderCancelled]) error { return nil }

func pay(ctx context.Context, bus *runtime.Bus) error {
	paid := events.OrderPaid{Payment: events.Card{LastFour: "4242"}}
	println(describe(paid.Payment), paid.RetriesOrDefault())
	_, err := events.PublishOrderPaid(ctx, bus, paid)
	return err
}

func describe(p events.Payment) string {
	onCard := func(c events.Card) string { return c.LastFour }
	onCash := func(events.PaymentCash) string { return "cash" }
	return events.VisitPayment(p, onCard, onCash)
}

func sendReceipt(ctx context.Context, e runtime.Event[events.OrderPlaced]) error {
	println(e.Payload.Total.Amount)
	return nil
}

func audit(ctx context.Context, e runtime.Event[events.OrderEvent]) error {
	switch order := e.Payload.(type) {
	case events.OrderPlaced:
		println("placed", order.OrderID.String())
	case events.OrderCancelled:
		println("cancelled", order.Reason)
	case events.OrderPaid:
		println("paid", describe(order.Payment))
	}
	return nil
}
