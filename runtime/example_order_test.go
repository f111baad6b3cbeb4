package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

// Later events of a partition key wait for one that fails. Those of other keys go on.
func ExampleWithStrictOrder() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	events.SubscribeUserEmailChanged(bus, "address-book",
		func(_ context.Context, e runtime.Event[events.UserEmailChanged]) error {
			if e.Payload.NewEmail == "ada@example.org" && e.Attempt == 1 {
				return errors.New("the address book is locked")
			}
			fmt.Println("the address is", e.Payload.NewEmail)
			return nil
		},
		runtime.WithStrictOrder(), runtime.WithRetry(retry.BaseDelay(100*time.Millisecond)))
	for _, change := range []events.UserEmailChanged{
		{UserID: customer, OldEmail: "a@example.org", NewEmail: "ada@example.org"},
		{UserID: customer, OldEmail: "ada@example.org", NewEmail: "countess@example.org"},
		{UserID: uuid.New(), OldEmail: "b@example.org", NewEmail: "bob@example.org"},
	} {
		events.PublishUserEmailChanged(ctx, bus, change)
	}
	bus.Start(ctx)
	bus.WaitIdle(ctx)
	// Output:
	// the address is bob@example.org
	// the address is ada@example.org
	// the address is countess@example.org
}

// The members of a group handle an event one after the other. The one that fails is tried again,
// and those before it are not.
func ExampleInGroup() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	member := func(name string, failures int) {
		events.SubscribeUserRegistered(bus, name, func(_ context.Context, e runtime.Event[events.UserRegistered]) error {
			fmt.Println(name, "in attempt", e.Attempt)
			if e.Attempt <= failures {
				return errors.New("not yet")
			}
			return nil
		}, runtime.InGroup("welcome"), runtime.WithRetry(retry.BaseDelay(time.Millisecond)))
	}
	member("open-account", 0)
	member("write-letter", 1)
	member("count", 0)
	events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	bus.Start(ctx)
	bus.WaitIdle(ctx)
	// Output:
	// open-account in attempt 1
	// write-letter in attempt 1
	// write-letter in attempt 2
	// count in attempt 2
}
