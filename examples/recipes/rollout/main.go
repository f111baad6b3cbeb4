// Command rollout is a program in two releases that work on one file. Start both in two terminals, and end them in turn
// with Ctrl-C:
//
//	go run ./examples/recipes/rollout -release 1
//	go run ./examples/recipes/rollout -release 2
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/busgen/busgen/examples/recipes/rollout/after"
	"github.com/busgen/busgen/examples/recipes/rollout/before"
	"github.com/busgen/busgen/runtime"
)

// release is the program on the file.
type release struct {
	bus     *runtime.Bus
	publish func(ctx context.Context, number int64) error
}

// first opens the file as release 1, whose orders are all in EUR.
func first(ctx context.Context, db string, receipt func(string)) (*release, error) {
	bus, err := before.Open(ctx, db, runtime.WithStandby())
	if err != nil {
		return nil, err
	}
	_, err = before.SubscribeOrderPlaced(bus, before.OnOrderPlacedSendReceipt, func(_ context.Context, e runtime.Event[before.OrderPlaced]) error {
		receipt(fmt.Sprintf("release 1: order %d, %d cents", e.Payload.Number, e.Payload.Cents))
		return nil
	})
	return &release{bus, func(ctx context.Context, number int64) error {
		_, err := before.PublishOrderPlaced(ctx, bus, before.OrderPlaced{Number: number, Cents: 500})
		return err
	}}, err
}

// second opens it as release 2, whose orders have a currency.
func second(ctx context.Context, db string, receipt func(string)) (*release, error) {
	bus, err := after.Open(ctx, db, runtime.WithStandby())
	if err != nil {
		return nil, err
	}
	_, err = after.SubscribeOrderPlaced(bus, after.OnOrderPlacedSendReceipt, func(_ context.Context, e runtime.Event[after.OrderPlaced]) error {
		receipt(fmt.Sprintf("release 2: order %d, %d %s", e.Payload.Number, e.Payload.Amount, e.Payload.Currency))
		return nil
	})
	return &release{bus, func(ctx context.Context, number int64) error {
		_, err := after.PublishOrderPlaced(ctx, bus, after.OrderPlaced{Number: number, Amount: 700, Currency: "USD"})
		return err
	}}, err
}

func main() {
	number := flag.Int("release", 1, "1 or 2")
	db := flag.String("db", "rollout.db", "the file of the bus")
	flag.Parse()
	open := first
	if *number == 2 {
		open = second
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := open(ctx, *db, func(text string) { fmt.Println(text) })
	if err == nil {
		err = r.run(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run publishes an order now and then, waits until the other release has ended, and handles orders until ctx ends.
func (r *release) run(ctx context.Context) error {
	defer r.bus.Shutdown(context.WithoutCancel(ctx))
	started := make(chan error, 1)
	go func() { started <- r.bus.Start(ctx) }()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for number := int64(1); ; {
		select {
		case <-ctx.Done():
			return nil
		case err := <-started:
			if err != nil && ctx.Err() == nil {
				return err
			}
			started = nil
		case <-ticker.C:
			if err := r.publish(ctx, number); err != nil && ctx.Err() == nil {
				return err
			}
			number++
		}
	}
}
