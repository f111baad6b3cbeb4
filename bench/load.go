package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime"
)

// A load is the work of a bus in one case.
type load struct {
	// publish publishes for that long and returns how many events it was.
	publish       func(ctx context.Context, b *bus, d time.Duration) (int, error)
	subscriptions int  // which have to handle all of them
	batched       bool // in batches
	writes        bool // by writing to a read model
}

// handledBy is the load with handlers that do nothing.
func (l load) handledBy(subscriptions int) load {
	l.subscriptions = subscriptions
	return l
}

// inBatches is the load with handlers of batches.
func (l load) inBatches() load {
	l.batched = true
	return l
}

// written is the load with a handler that writes each event to a read model.
func (l load) written() load {
	l.subscriptions, l.writes = 1, true
	return l
}

// run publishes for that long, and waits until everything is handled.
func (l load) run(ctx context.Context, b *bus, d time.Duration) (int, error) {
	published, err := l.publish(ctx, b, d)
	if err == nil && l.subscriptions > 0 {
		err = b.requireHandled(ctx, published)
	}
	return published, err
}

// publishers is the load of n goroutines that publish one event after the
// other, each waiting until its event is on disk.
func publishers(n int) load {
	return load{publish: func(ctx context.Context, b *bus, d time.Duration) (int, error) {
		counts, errs := make([]int, n), make([]error, n)
		until := time.Now().Add(d)
		var running sync.WaitGroup
		for i := range n {
			running.Go(func() {
				count := 0
				for errs[i] == nil && (count == 0 || time.Now().Before(until)) { // a busy machine may begin late
					_, errs[i] = events.PublishOrderPlaced(ctx, b.Bus, sample)
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
	}}
}

// batches is the load of one publisher that stores n events at a time.
func batches(n int) load {
	payloads := samples(n)
	return load{publish: func(ctx context.Context, b *bus, d time.Duration) (total int, err error) {
		for until := time.Now().Add(d); total == 0 || time.Now().Before(until); total += n {
			if _, err := runtime.PublishBatch(ctx, b.Bus, events.OrderPlacedType, payloads); err != nil {
				return total, err
			}
		}
		return total, nil
	}}
}
