package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime"
)

type busgenSystem struct{ bus *runtime.Bus }

func openBusgen(ctx context.Context, path string, s setup) (system, error) {
	bus, err := events.Open(ctx, path, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	var opts []runtime.SubscribeOption
	if s.tuned {
		opts = append(opts, runtime.WithConcurrency(128))
	}
	for i := range s.subscribers {
		_, err := events.SubscribeOrderPlaced(bus, fmt.Sprintf("subscription-%d", i),
			func(ctx context.Context, e runtime.Event[events.OrderPlaced]) error {
				return s.handle(ctx, i, e.Payload.Total)
			}, opts...)
		if err != nil {
			return nil, err
		}
	}
	return &busgenSystem{bus}, nil
}

func (s *busgenSystem) publish(ctx context.Context, number int64) error {
	_, err := events.PublishOrderPlaced(ctx, s.bus, payload(number))
	return err
}

func (s *busgenSystem) start(ctx context.Context) error { return s.bus.Start(ctx) }

func (s *busgenSystem) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.bus.Shutdown(ctx)
}

// multiplyBusgen publishes and handles the events: that is fast enough.
func multiplyBusgen(ctx context.Context, path string, n int) error {
	opened, err := openBusgen(ctx, path, setup{subscribers: 1, handle: func(context.Context, int, int64) error { return nil }})
	if err != nil {
		return err
	}
	s := opened.(*busgenSystem)
	defer s.close()
	if err := s.start(ctx); err != nil {
		return err
	}
	batch := make([]events.OrderPlaced, 1000)
	for i := range batch {
		batch[i] = payload(0)
	}
	for left := n - 1; left > 0; left -= len(batch) {
		if _, err := runtime.PublishBatch(ctx, s.bus, events.OrderPlacedType, batch[:min(left, len(batch))]); err != nil {
			return err
		}
	}
	if err := s.bus.WaitIdle(ctx); err != nil {
		return err
	}
	return syncFile(path)
}
