package main

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/busgen/busgen/bench/events"
)

// pause lies between two samples, so that each finds the bus idle: it is longer
// than the bus takes to write down that an event was handled.
const pause = 10 * time.Millisecond

// latency measures from the beginning of a publish until the handler runs, in
// turns with one bare commit of one row.
func latency(ctx context.Context, s *setting) (result, error) {
	bare, err := s.openLimit(ctx)
	if err != nil {
		return result{}, err
	}
	bus, err := s.open(ctx, s.file())
	if err != nil {
		return result{}, err
	}
	entered := make(chan time.Time, 1)
	err = bus.handle(subscriptionName(0), func() error {
		entered <- time.Now()
		return nil
	})
	if err != nil {
		return result{}, err
	}
	if err := bus.Start(ctx); err != nil {
		return result{}, err
	}

	var handled, committed []time.Duration
	for until := time.Now().Add(s.total); handled == nil || time.Now().Before(until); {
		time.Sleep(pause)
		began := time.Now()
		if err := bare.transaction(1); err != nil {
			return result{}, err
		}
		committed = append(committed, time.Since(began))

		time.Sleep(pause)
		began = time.Now()
		if _, err := events.PublishOrderPlaced(ctx, bus.Bus, sample); err != nil {
			return result{}, err
		}
		select {
		case at := <-entered:
			handled = append(handled, at.Sub(began))
		case <-ctx.Done():
			return result{}, ctx.Err()
		}
	}
	return latencyResult(handled, committed), nil
}

// latencyResult also puts the medians as rates, so that a higher ratio is
// better here as well.
func latencyResult(handled, committed []time.Duration) result {
	p50, p99, commit := quantile(handled, 0.5), quantile(handled, 0.99), quantile(committed, 0.5)
	return result{
		PerSecond: 1e6 / p50, Limit: 1e6 / commit, Ratio: commit / p50,
		P50: p50, P99: p99, Commit: commit, CommitP99: quantile(committed, 0.99),
	}
}

// quantile returns the smallest sample, in microseconds, that at least the
// share q of the samples does not exceed.
func quantile(samples []time.Duration, q float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return float64(sorted[rank-1]) / float64(time.Microsecond)
}
