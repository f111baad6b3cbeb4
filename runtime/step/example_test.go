package step_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

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

// The handler waits for the parcel of its order, for three days at most.
func ExampleAwait() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()
	bus, err := runtime.Open(ctx, filepath.Join(folder, "shop.db"), runtime.NewCatalogue(OrderPlacedType, ParcelScannedType), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		panic(err)
	}
	defer bus.Shutdown(ctx)

	waits := make(chan struct{}, 1)
	runtime.Subscribe(bus, OrderPlacedType, "fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		parcel, err := step.Await(ctx, "parcel", ParcelScannedType, strconv.Itoa(e.Payload.Order), 72*time.Hour)
		switch {
		case errors.Is(err, step.ErrSuspended):
			waits <- struct{}{}
			return err
		case errors.Is(err, step.ErrNoEvent):
			return runtime.Discard("no parcel within three days")
		case err != nil:
			return err
		}
		fmt.Println("the parcel of order", e.Payload.Order, "is", parcel.Payload.Code)
		return nil
	})

	bus.Start(ctx)
	runtime.Publish(ctx, bus, OrderPlacedType, OrderPlaced{Order: 7})
	<-waits
	runtime.Publish(ctx, bus, ParcelScannedType, ParcelScanned{Order: 7, Code: "DE-81"})
	bus.WaitIdle(ctx)
	// Output:
	// the parcel of order 7 is DE-81
}
