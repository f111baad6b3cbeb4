package step_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/runtime/step"
)

// The second step fails once. The handler is called again, and the first one is not done again.
func ExampleDo() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()
	bus, err := runtime.Open(ctx, filepath.Join(folder, "shop.db"), runtime.NewCatalogue(OrderPlacedType), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		panic(err)
	}
	defer bus.Shutdown(ctx)

	runtime.Subscribe(bus, OrderPlacedType, "fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		fmt.Println("attempt", e.Attempt)
		charge, err := step.Do(ctx, "charge", func(context.Context) (Charge, error) {
			fmt.Println("charge")
			return Charge{ID: "c-1"}, nil
		})
		if err != nil {
			return err
		}
		_, err = step.Do(ctx, "mail", func(context.Context) (bool, error) {
			if e.Attempt == 1 {
				return false, errors.New("the mail server is down")
			}
			fmt.Println("mail about", charge.ID)
			return true, nil
		})
		return err
	}, runtime.WithRetry(retry.WithBackoff(retry.None)))

	bus.Start(ctx)
	runtime.Publish(ctx, bus, OrderPlacedType, OrderPlaced{Order: 7})
	bus.WaitIdle(ctx)
	// Output:
	// attempt 1
	// charge
	// attempt 2
	// mail about c-1
}
