package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/jetstream"
)

// subscriptions are those that the catalogue declares for orders.
var subscriptions = []string{"charge-card", "send-receipt", "print-gift-card"}

// runShop is what a program of yours has: it opens the bus, says what handles orders, and starts.
// That its events are on three servers is the target and one option. It ends when its standard
// input does.
func runShop(name, target string) error {
	ctx := context.Background()
	bus, err := events.Open(ctx, target, jetstream.Engine(), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	for _, subscription := range subscriptions {
		_, err := events.SubscribeOrderPlaced(bus, events.UndeclaredOrderPlaced(subscription), func(ctx context.Context, e runtime.Event[events.OrderPlaced]) error {
			time.Sleep(5 * time.Millisecond) // the work
			if e.Payload.Number%20 == 7 && e.Attempt == 1 {
				return errors.New("the bank does not answer") // and the bus tries again
			}
			// The line goes to the stage, which counts it. If this process is killed behind it and
			// before the bus has stored that the order is handled, another shop handles it again.
			fmt.Printf("%s %s %d\n", name, subscription, e.Payload.Number)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := bus.Start(ctx); err != nil {
		return err
	}
	io.Copy(io.Discard, os.Stdin)
	return bus.Shutdown(ctx)
}
