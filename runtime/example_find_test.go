package runtime_test

import (
	"context"
	"fmt"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// registered publishes an event for each address.
func registered(ctx context.Context, bus *runtime.Bus, emails ...string) (receipts []*runtime.Receipt) {
	for _, email := range emails {
		receipt, _ := events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: email})
		receipts = append(receipts, receipt)
	}
	return receipts
}

// The newest registration of an organisation.
func ExampleFind() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)
	registered(ctx, bus, "ada@example.org", "bob@example.net", "cyn@example.org", "dan@example.net")

	org := func(e runtime.Event[events.UserRegistered]) bool {
		return len(e.Payload.Email) > 4 && e.Payload.Email[len(e.Payload.Email)-4:] == ".org"
	}
	for event, err := range runtime.Find(ctx, bus, events.UserRegisteredType, runtime.Query{Limit: 1}, org) {
		fmt.Println(event.Payload.Email, err)
	}
	// Output:
	// cyn@example.org <nil>
}

// A program asks for something and waits for the event that says that it was done. It
// takes the time before, so that an answer that comes at once is not missed.
func ExampleAwait() {
	path, remove := exampleFile()
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	asked := time.Now()
	go registered(ctx, bus, "ada@example.org", "bob@example.org") // the other side
	event, err := runtime.Await(ctx, bus, events.UserRegisteredType, runtime.Query{Since: asked},
		func(e runtime.Event[events.UserRegistered]) bool { return e.Payload.Email == "bob@example.org" })
	fmt.Println(event.Payload.Email, err)
	// Output:
	// bob@example.org <nil>
}

// A handler had a bug, and is to handle again what it has handled since a certain event.
func ExampleBus_Replay_from() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)
	events.SubscribeUserRegistered(bus, "welcome-mail",
		func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
			fmt.Println(e.Payload.Email, e.Replayed)
			return nil
		})
	bus.Start(ctx)
	receipts := registered(ctx, bus, "ada@example.org", "bob@example.org", "cyn@example.org")
	bus.WaitIdle(ctx)

	n, err := bus.Replay(ctx, "welcome-mail", event.ReplayFilter{From: receipts[1].ID})
	bus.WaitIdle(ctx)
	fmt.Println("replayed", n, err)
	// Output:
	// ada@example.org false
	// bob@example.org false
	// cyn@example.org false
	// bob@example.org true
	// cyn@example.org true
	// replayed 2 <nil>
}

// Only the events of one registration are handled again.
func ExampleBus_Replay() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)
	events.SubscribeUserRegistered(bus, "welcome-mail",
		func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
			fmt.Println(e.Payload.Email, e.Replayed)
			return nil
		})
	bus.Start(ctx)
	registered(ctx, bus, "ada@example.org", "bob@example.org")
	bus.WaitIdle(ctx)

	bus.Replay(ctx, "welcome-mail", event.ReplayFilter{Text: "ada@example.org"})
	bus.WaitIdle(ctx)
	// Output:
	// ada@example.org false
	// bob@example.org false
	// ada@example.org true
}
