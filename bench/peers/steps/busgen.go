package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/step"
)

type busgenShop struct {
	bus *runtime.Bus
	do  world
}

func openBusgen(ctx context.Context, path string, do world) (shop, error) {
	bus, err := events.Open(ctx, path, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	s := &busgenShop{bus, do}
	if err := runtime.Transact(ctx, bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(ctx, createRows)
		return err
	}); err != nil {
		return nil, err
	}
	if _, err := events.SubscribeOrderPlaced(bus, "fulfil", s.fulfil, runtime.WithConcurrency(128)); err != nil {
		return nil, err
	}
	return s, bus.Start(ctx)
}

func (s *busgenShop) fulfil(ctx context.Context, e runtime.Event[events.OrderPlaced]) error {
	order := e.Payload.Total
	if _, err := s.row(ctx, "reserve", order); err != nil {
		return err
	}
	for _, name := range []string{"charge", "print", "invoice"} {
		if _, err := s.step(ctx, name, order); err != nil {
			return err
		}
	}
	if _, err := s.row(ctx, "ship", order); err != nil {
		return err
	}
	_, err := s.step(ctx, "mail", order)
	return err
}

func (s *busgenShop) step(ctx context.Context, name string, order int64) (Done, error) {
	return step.Do(ctx, name, func(context.Context) (Done, error) { return s.do(name, order) })
}

func (s *busgenShop) row(ctx context.Context, name string, order int64) (Done, error) {
	return step.Tx(ctx, name, func(ctx context.Context, tx runtime.Tx) (Done, error) {
		_, err := tx.ExecContext(ctx, insertRow, order, name)
		return Done{ID: name}, err
	})
}

func (s *busgenShop) begin(ctx context.Context, order int64) (func(context.Context) error, error) {
	receipt, err := events.PublishOrderPlaced(ctx, s.bus, events.OrderPlaced{
		OrderID: uuid.New(), Customer: "ada@example.com", Currency: events.CurrencyEUR, Total: order,
		Lines: []events.Line{{SKU: "TEA-GREEN-250", Quantity: 2}}, PlacedAt: time.Now(),
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		outcome, err := receipt.Wait(ctx)
		if err != nil {
			return err
		}
		return outcome.Err()
	}, nil
}

func (s *busgenShop) rows(ctx context.Context) (n int, err error) {
	err = runtime.DB(s.bus).QueryRowContext(ctx, countRows).Scan(&n)
	return n, err
}

func (s *busgenShop) close(ctx context.Context) error { return s.bus.Shutdown(ctx) }
