package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// A reminder is cancelled before its time has come.
func ExampleReceipt_Cancel() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	bus, err := events.Open(ctx, filepath.Join(folder, "shop.db"), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	events.SubscribeUserRegistered(bus, "remind", func(context.Context, runtime.Event[events.UserRegistered]) error {
		fmt.Println("this is never called")
		return nil
	})
	bus.Start(ctx)
	receipt, err := events.PublishUserRegistered(ctx, bus,
		events.UserRegistered{UserID: customer, Email: "ada@example.org"}, runtime.WithDelay(time.Hour))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(receipt.Cancel(ctx))
	outcome, _ := receipt.Wait(ctx)
	for _, d := range outcome.Deliveries {
		if d.Subscription == "remind" {
			fmt.Println(d.Discarded, d.Reason)
		}
	}
	// Output:
	// <nil>
	// true cancelled
}

// A welcome mail is cancelled while its handler runs: it goes on, and the other
// subscription is kept from handling the event.
func ExampleBus_Cancel() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	bus, err := events.Open(ctx, filepath.Join(folder, "shop.db"), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	begins, ends := make(chan bool), make(chan bool)
	events.SubscribeUserRegistered(bus, "welcome", func(context.Context, runtime.Event[events.UserRegistered]) error {
		close(begins)
		<-ends
		return nil
	})
	events.SubscribeUserRegistered(bus, "remind", func(context.Context, runtime.Event[events.UserRegistered]) error {
		fmt.Println("this is never called")
		return nil
	})
	bus.PauseSubscription(ctx, "remind", "")
	bus.Start(ctx)
	receipt, err := events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	if err != nil {
		fmt.Println(err)
		return
	}
	<-begins
	err = bus.Cancel(ctx, receipt.ID)
	if begun, ok := errors.AsType[*event.BegunError](err); ok {
		fmt.Println("too late for", begun.Running)
		fmt.Println("in time for remind:", slices.Contains(begun.Cancelled, "remind"))
	}
	close(ends)
	// Output:
	// too late for [welcome]
	// in time for remind: true
}
