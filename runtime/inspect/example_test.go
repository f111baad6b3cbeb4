package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

// A subscription that cannot keep up is found, and held back.
func Example() {
	folder, _ := os.MkdirTemp("", "busgen-example-")
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "shop.db")
	ctx := context.Background()

	bus, err := events.Open(ctx, path, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	events.SubscribeUserRegistered(bus, "crm",
		func(context.Context, runtime.Event[events.UserRegistered]) error { return errors.New("no connection") },
		runtime.WithRetry(retry.MaxAttempts(1)))
	bus.Start(ctx)
	receipt, err := events.PublishUserRegistered(ctx, bus, events.UserRegistered{Email: "ada@example.org"})
	if err != nil {
		fmt.Println(err)
		return
	}
	receipt.Wait(ctx)

	// From here on nothing needs the bus: it could as well be in another process.
	file, err := inspect.Open(ctx, path, inspect.WithActor("night shift"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	status, _ := file.Status(ctx)
	fmt.Println("alive:", status.Owner.Alive, "events:", status.Events, "dead letters:", status.DeadLetters)

	one, _ := file.Event(ctx, receipt.ID)
	for _, d := range one.Deliveries {
		if d.State == event.StateDead {
			fmt.Println(one.Type, "for", d.Subscription+":", d.Attempts[0].Error)
		}
	}

	file.PauseSubscription(ctx, "crm", "")
	status, _ = file.Status(ctx)
	fmt.Println("paused:", status.Pauses[0].Subscription)
	// Output:
	// alive: true events: 1 dead letters: 1
	// user.registered for crm: no connection
	// paused: crm
}

// The minutes in which letters died say when the trouble began.
func ExampleFile_Hour() {
	folder, _ := os.MkdirTemp("", "busgen-example-")
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "shop.db")
	ctx := context.Background()

	bus, err := events.Open(ctx, path, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	events.SubscribeUserRegistered(bus, "crm",
		func(context.Context, runtime.Event[events.UserRegistered]) error { return errors.New("no connection") },
		runtime.WithRetry(retry.MaxAttempts(1)))
	bus.Start(ctx)
	receipt, err := events.PublishUserRegistered(ctx, bus, events.UserRegistered{Email: "ada@example.org"})
	if err != nil {
		fmt.Println(err)
		return
	}
	receipt.Wait(ctx)
	bus.Shutdown(ctx)

	file, err := inspect.Open(ctx, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	hour, _ := file.Hour(ctx)
	last := len(hour.Dead) - 1
	fmt.Println("published:", hour.Published[last], "dead:", hour.Dead[last])
	for _, s := range hour.Subscriptions {
		fmt.Println(s.Name+":", s.Dead[last])
	}
	// Output:
	// published: 1 dead: 1
	// crm: 1
}
