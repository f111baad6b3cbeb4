package step_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/step"
)

// shop opens a bus with one subscription, which is not started.
func shop(b *testing.B, path string, concurrency int, handler runtime.Handler[OrderPlaced]) *runtime.Bus {
	b.Helper()
	bus, err := runtime.Open(b.Context(), path, runtime.NewCatalogue(OrderPlacedType, ParcelScannedType),
		runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		b.Fatal(err)
	}
	_, err = runtime.Subscribe(bus, OrderPlacedType, "fulfil", handler, runtime.WithConcurrency(concurrency))
	if err != nil {
		b.Fatal(err)
	}
	return bus
}

func publish(b *testing.B, bus *runtime.Bus, n int) {
	b.Helper()
	for left := n; left > 0; left -= 1000 {
		orders := make([]OrderPlaced, min(left, 1000))
		if _, err := runtime.PublishBatch(b.Context(), bus, OrderPlacedType, orders); err != nil {
			b.Fatal(err)
		}
	}
}

// What a step costs beside a row of one's own in a transaction: the median of ratios, without what an event costs that
// does neither. The three take turns, because machines are slow for seconds.
func BenchmarkAStepBesideARow(b *testing.B) {
	const each = 3 // steps or rows of an event
	var bus *runtime.Bus
	do := func(ctx context.Context, _ runtime.Event[OrderPlaced], i int) error {
		_, err := step.Do(ctx, fmt.Sprint("step ", i), func(context.Context) (Charge, error) {
			return Charge{ID: "ch_0123456789abcdef"}, nil
		})
		return err
	}
	row := func(ctx context.Context, e runtime.Event[OrderPlaced], i int) error {
		return runtime.Transact(ctx, bus, func(tx runtime.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO effect (number, step) VALUES (?, ?)", e.Payload.Order, i)
			return err
		})
	}
	nothing := func(context.Context, runtime.Event[OrderPlaced], int) error { return nil }
	type part = func(ctx context.Context, e runtime.Event[OrderPlaced], i int) error
	took := func(b *testing.B, concurrency, events int, what part) time.Duration {
		handler := func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			for i := range each {
				if err := what(ctx, e, i); err != nil {
					return err
				}
			}
			return nil
		}
		bus = shop(b, filepath.Join(b.TempDir(), "shop.db"), concurrency, handler)
		defer bus.Shutdown(context.Background())
		if err := runtime.Transact(b.Context(), bus, func(tx runtime.Tx) error {
			_, err := tx.ExecContext(b.Context(), "CREATE TABLE effect (number INTEGER, step INTEGER)")
			return err
		}); err != nil {
			b.Fatal(err)
		}
		publish(b, bus, events)
		began := time.Now()
		if err := bus.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := bus.WaitIdle(b.Context()); err != nil {
			b.Fatal(err)
		}
		return time.Since(began) / time.Duration(events)
	}
	for concurrency, events := range map[int]int{1: 300, 128: 5000} {
		b.Run(fmt.Sprint(concurrency), func(b *testing.B) {
			var steps, ratios []float64
			for b.Loop() {
				var s, r time.Duration
				if len(steps)%2 == 0 {
					s, r = took(b, concurrency, events, do), took(b, concurrency, events, row)
				} else {
					r, s = took(b, concurrency, events, row), took(b, concurrency, events, do)
				}
				n := took(b, concurrency, events, nothing)
				steps = append(steps, float64((s-n).Microseconds())/each)
				ratios = append(ratios, float64(s-n)/float64(r-n))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(steps), "µs/step")
			b.ReportMetric(median(ratios), "steps/row")
		})
	}
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
