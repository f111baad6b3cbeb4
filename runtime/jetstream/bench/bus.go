package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/jetstream"
)

// sample is the payload that is published over and over.
var sample = events.OrderPlaced{
	OrderID: uuid.MustParse("0198c5f2-7b1e-7c3a-9d4f-2a6b8c0d1e2f"), Customer: "ada@example.com", Currency: events.CurrencyEUR, Total: 4299,
	Lines: []events.Line{{SKU: "TEA-GREEN-250", Quantity: 2}}, PlacedAt: time.Date(2026, 3, 14, 15, 9, 26, 535_897_000, time.UTC),
}

// bus is a bus on a stream of its own.
type bus struct {
	*runtime.Bus
	handled   []*count // by each subscription
	published int
}

// count is a number that a subscription's handler counts. The memory after it keeps the others' out of its cache lines,
// so that what is measured is the bus and not processors that wait for each other here.
type count struct {
	atomic.Int64
	_ [120]byte
}

// openBus opens a new bus, with so many subscriptions whose handlers do nothing.
func (s *setting) openBus(ctx context.Context, subscriptions int) (*bus, error) {
	return s.openBusAt(ctx, s.address()+"/"+s.newName(), subscriptions)
}

// openBusAt opens the bus of an address.
func (s *setting) openBusAt(ctx context.Context, address string, subscriptions int) (*bus, error) {
	opened, err := events.Open(ctx, address, jetstream.Engine(jetstream.Replicas(s.replicas)),
		runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	b := &bus{Bus: opened}
	s.closing = append(s.closing, func() { b.Shutdown(context.Background()) })
	for i := range subscriptions {
		handled := new(count)
		b.handled = append(b.handled, handled)
		_, err := events.SubscribeOrderPlaced(b.Bus, fmt.Sprint("bench-", i), func(context.Context, runtime.Event[events.OrderPlaced]) error {
			handled.Add(1)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if subscriptions == 0 {
		return b, nil
	}
	return b, b.Start(ctx)
}

// publish lets so many goroutines publish one event after the other.
func (b *bus) publish(ctx context.Context, publishers int, d time.Duration) (int, error) {
	return together(publishers, d, func() error {
		_, err := events.PublishOrderPlaced(ctx, b.Bus, sample)
		return err
	})
}

// waitHandled waits until so many deliveries were handled.
func (b *bus) waitHandled(n int64) error {
	return waitFor(nil, func() bool { return b.deliveries() >= n })
}

// deliveries returns how many deliveries were handled.
func (b *bus) deliveries() (n int64) {
	for _, c := range b.handled {
		n += c.Load()
	}
	return n
}
