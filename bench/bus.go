package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime"
)

// bus is a bus with everything at its defaults, except that it does not log.
type bus struct {
	*runtime.Bus
	handled atomic.Int64 // by the subscription of subscribe
}

func openBus(ctx context.Context, path string) (*bus, error) {
	b, err := runtime.Open(ctx, path, catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	return &bus{Bus: b}, nil
}

// subscribe starts the bus with one subscription, whose handler does nothing.
func (b *bus) subscribe(ctx context.Context) error {
	_, err := runtime.Subscribe(b.Bus, orderPlacedType, "bench", func(context.Context, runtime.Event[orderPlaced]) error {
		b.handled.Add(1)
		return nil
	})
	if err != nil {
		return err
	}
	return b.Start(ctx)
}

// publishers is the load of n goroutines that publish one event after the
// other, each waiting until its event is on disk.
func publishers(n int) load {
	return load{
		prepare: func(context.Context, *bus) error { return nil },
		publish: func(ctx context.Context, b *bus, d time.Duration) (int, error) {
			counts, errs := make([]int, n), make([]error, n)
			until := time.Now().Add(d)
			var running sync.WaitGroup
			for i := range n {
				running.Go(func() {
					count := 0
					for errs[i] == nil && time.Now().Before(until) {
						_, errs[i] = runtime.Publish(ctx, b.Bus, orderPlacedType, sample)
						count++
					}
					counts[i] = count
				})
			}
			running.Wait()
			total := 0
			for _, count := range counts {
				total += count
			}
			return total, errors.Join(errs...)
		},
	}
}

// batches is the load of one publisher that stores n events at a time.
func batches(n int) load {
	payloads := make([]orderPlaced, n)
	for i := range payloads {
		payloads[i] = sample
	}
	return load{
		prepare: func(context.Context, *bus) error { return nil },
		publish: func(ctx context.Context, b *bus, d time.Duration) (total int, err error) {
			for until := time.Now().Add(d); time.Now().Before(until); total += n {
				if _, err := runtime.PublishBatch(ctx, b.Bus, orderPlacedType, payloads); err != nil {
					return total, err
				}
			}
			return total, nil
		},
	}
}

// handled is a load whose events have to be handled too before its time is up.
func handled(l load) load {
	return load{
		prepare: func(ctx context.Context, b *bus) error { return b.subscribe(ctx) },
		publish: func(ctx context.Context, b *bus, d time.Duration) (int, error) {
			before := b.handled.Load()
			published, err := l.publish(ctx, b, d)
			if err != nil {
				return 0, err
			}
			if err := b.WaitIdle(ctx); err != nil {
				return 0, err
			}
			if n := int(b.handled.Load() - before); n != published {
				return 0, fmt.Errorf("%d events were published and %d handled", published, n)
			}
			return published, nil
		},
	}
}
