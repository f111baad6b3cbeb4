package step_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/step"
)

// What a step costs beside a row of one's own in a transaction, per event that does three of them.
func BenchmarkSteps(b *testing.B) {
	for _, concurrency := range []int{1, 128} {
		for name, handler := range map[string]func(ctx context.Context, bus *runtime.Bus, e runtime.Event[OrderPlaced], i int) error{
			"nothing": func(context.Context, *runtime.Bus, runtime.Event[OrderPlaced], int) error { return nil },
			"do": func(ctx context.Context, _ *runtime.Bus, e runtime.Event[OrderPlaced], i int) error {
				_, err := step.Do(ctx, fmt.Sprint("step ", i), func(context.Context) (int, error) { return i, nil })
				return err
			},
			"transact": func(ctx context.Context, bus *runtime.Bus, e runtime.Event[OrderPlaced], i int) error {
				return runtime.Transact(ctx, bus, func(tx runtime.Tx) error {
					_, err := tx.ExecContext(ctx, "INSERT INTO effect (number, step) VALUES (?, ?)", e.Payload.Order, i)
					return err
				})
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, concurrency), func(b *testing.B) {
				bus, err := runtime.Open(b.Context(), filepath.Join(b.TempDir(), "shop.db"), runtime.NewCatalogue(OrderPlacedType), runtime.WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					b.Fatal(err)
				}
				defer bus.Shutdown(context.Background())
				if err := runtime.Transact(b.Context(), bus, func(tx runtime.Tx) error {
					_, err := tx.ExecContext(b.Context(), "CREATE TABLE effect (number INTEGER, step INTEGER)")
					return err
				}); err != nil {
					b.Fatal(err)
				}
				if _, err := runtime.Subscribe(bus, OrderPlacedType, "fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					for i := range 3 {
						if err := handler(ctx, bus, e, i); err != nil {
							return err
						}
					}
					return nil
				}, runtime.WithConcurrency(concurrency)); err != nil {
					b.Fatal(err)
				}
				for left := b.N; left > 0; left -= 1000 {
					if _, err := runtime.PublishBatch(b.Context(), bus, OrderPlacedType, make([]OrderPlaced, min(left, 1000))); err != nil {
						b.Fatal(err)
					}
				}
				b.ResetTimer()
				if err := bus.Start(b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := bus.WaitIdle(b.Context()); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
