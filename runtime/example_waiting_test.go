package runtime_test

import (
	"context"
	"fmt"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

// A handler publishes an event at once and goes on when it is handled, although the
// subscription handles one event at a time.
func ExampleImmediately() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	events.SubscribeUser(bus, "accounts", func(ctx context.Context, e runtime.Event[events.UserEvent]) error {
		switch user := e.Payload.(type) {
		case events.UserRegistered:
			fmt.Println("an account for", user.Email)
		case events.UserDeletionRequested:
			fmt.Println("deletion begins")
			receipt, err := events.PublishUserEmailChanged(ctx, bus,
				events.UserEmailChanged{UserID: user.UserID, OldEmail: "ada@example.org", NewEmail: "gone@example.org"}, runtime.Immediately())
			if err != nil {
				return err
			}
			outcome, err := receipt.Wait(ctx)
			if err != nil {
				return err
			}
			fmt.Println("deletion ends")
			return outcome.Err()
		case events.UserEmailChanged:
			fmt.Println("the address is now", user.NewEmail)
		}
		return nil
	})
	events.PublishUserDeletionRequested(ctx, bus, events.UserDeletionRequested{UserID: customer, DueOn: runtime.Date{Year: 2030, Month: 1, Day: 31}})
	events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	bus.Start(ctx)
	bus.WaitIdle(ctx)
	// Output:
	// deletion begins
	// the address is now gone@example.org
	// deletion ends
	// an account for ada@example.org
}
