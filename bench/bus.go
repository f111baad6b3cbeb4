package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime"
)

// bus is a bus with everything at its defaults, except that it does not log.
type bus struct {
	*runtime.Bus
	handled []count // by subscription
}

// count has a cache line of its own, so that counting does not slow down
// handlers that run beside each other.
type count struct {
	atomic.Int64
	_ [56]byte
}

func openBus(ctx context.Context, path string) (*bus, error) {
	b, err := events.Open(ctx, path, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	return &bus{Bus: b}, nil
}

// Shutdown ends the bus. The error says also that it has stalled: then what was measured is how soon it looks again by
// itself.
func (b *bus) Shutdown(ctx context.Context) error {
	err := b.Bus.Shutdown(ctx)
	return errors.Join(err, neverStalled(b.Stats()))
}

func neverStalled(stats runtime.Stats) (err error) {
	for _, s := range stats.Subscriptions {
		if s.Stalls > 0 {
			err = errors.Join(err, fmt.Errorf("subscription %q has stalled %d times: events waited until the bus looked "+
				"again by itself", s.Name, s.Stalls))
		}
	}
	return err
}

// subscribe starts the bus with that many subscriptions. Their handlers do nothing, or write
// to a read model; with batched they get up to 128 events at once. Without any subscription
// the bus only publishes, and needs no start.
func (b *bus) subscribe(ctx context.Context, subscriptions int, batched bool, model *readModel) error {
	if subscriptions == 0 {
		return nil
	}
	b.handled = make([]count, subscriptions)
	for i := range b.handled {
		handle := func(all ...runtime.Event[events.OrderPlaced]) error {
			if model != nil {
				if err := model.write(all...); err != nil {
					return err
				}
			}
			b.handled[i].Add(int64(len(all)))
			return nil
		}
		var err error
		if batched {
			_, err = runtime.SubscribeBatch(b.Bus, events.OrderPlacedType, subscriptionName(i),
				func(_ context.Context, batch []runtime.Event[events.OrderPlaced]) error {
					return handle(batch...)
				}, runtime.WithBatch(128, time.Millisecond))
		} else if model != nil {
			_, err = events.SubscribeOrderPlaced(b.Bus, subscriptionName(i),
				func(_ context.Context, e runtime.Event[events.OrderPlaced]) error {
					return handle(e)
				})
		} else {
			err = b.handle(subscriptionName(i), func() error {
				b.handled[i].Add(1)
				return nil
			})
		}
		if err != nil {
			return err
		}
	}
	return b.Start(ctx)
}

func subscriptionName(i int) string { return fmt.Sprintf("bench-%d", i) }

// handle makes a subscription.
func (b *bus) handle(name string, handler func() error, opts ...runtime.SubscribeOption) error {
	_, err := events.SubscribeOrderPlaced(b.Bus, name,
		func(context.Context, runtime.Event[events.OrderPlaced]) error { return handler() }, opts...)
	return err
}

// requireHandled waits until every subscription has handled that many events,
// and makes sure that it was not more.
func (b *bus) requireHandled(ctx context.Context, events int) error {
	if err := b.WaitIdle(ctx); err != nil {
		return err
	}
	for i := range b.handled {
		if n := int(b.handled[i].Load()); n != events {
			return fmt.Errorf("%d events were published and subscription %d has handled %d", events, i, n)
		}
		b.handled[i].Store(0)
	}
	return nil
}

// drain starts the bus with one subscription, and returns how long it takes until
// the first and until the last of the waiting events is handled.
func (b *bus) drain(ctx context.Context, events int, opts ...runtime.SubscribeOption) (first, last time.Duration,
	err error) {
	var entered sync.Once
	var firstAt time.Time
	var handled atomic.Int64
	done := make(chan struct{})
	err = b.handle(subscriptionName(0), func() error {
		entered.Do(func() { firstAt = time.Now() })
		if handled.Add(1) == int64(events) {
			close(done)
		}
		return nil
	}, opts...)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := b.Start(ctx); err != nil {
		return 0, 0, err
	}
	select {
	case <-done:
		return firstAt.Sub(began), time.Since(began), nil
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
}

// samples returns n payloads.
func samples(n int) []events.OrderPlaced {
	payloads := make([]events.OrderPlaced, n)
	for i := range payloads {
		payloads[i] = sample
	}
	return payloads
}

//go:generate go tool busgen generate events.yaml --out events

// sample is the payload that is published over and over.
var sample = events.OrderPlaced{
	OrderID:  uuid.MustParse("0198c5f2-7b1e-7c3a-9d4f-2a6b8c0d1e2f"),
	Customer: "ada@example.com",
	Currency: events.CurrencyEUR,
	Total:    4299,
	Lines:    []events.Line{{SKU: "TEA-GREEN-250", Quantity: 2}},
	PlacedAt: time.Date(2026, 3, 14, 15, 9, 26, 535_897_000, time.UTC),
}
