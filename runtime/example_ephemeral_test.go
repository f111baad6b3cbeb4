package runtime_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

// A web socket shows what happens while it is open. The bus need not be started, and the
// file remembers nothing of the subscription.
func ExampleEphemeral() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	bus, err := events.Open(ctx, filepath.Join(folder, "shop.db"), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	register := func(email string) {
		if _, err := events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: email}); err != nil {
			fmt.Println(err)
		}
	}
	register("before@example.org")

	socket := make(chan string)
	live, err := events.SubscribeUserRegistered(bus, "socket", func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
		select {
		case socket <- e.Payload.Email:
		case <-ctx.Done():
		}
		return nil
	}, runtime.Ephemeral())
	if err != nil {
		fmt.Println(err)
		return
	}
	register("ada@example.org")
	fmt.Println(<-socket)
	live.Unsubscribe(ctx) // when the socket is closed
	lags, _ := bus.Lag(ctx)
	for _, l := range lags {
		if l.Subscription == "socket" {
			fmt.Println("this is never printed")
		}
	}
	// Output: ada@example.org
}
