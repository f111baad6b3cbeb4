package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// What a handler logs is kept with the attempt if it fails.
func ExampleLogger() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "shop.db")
	bus, err := events.Open(ctx, path, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	events.SubscribeUserRegistered(bus, "welcome", func(_ context.Context, e runtime.Event[events.UserRegistered]) error {
		runtime.Logger(e).Info("sending a mail", "to", e.Payload.Email)
		return runtime.Permanent(errors.New("no such mailbox"))
	})
	bus.Start(ctx)
	receipt, err := events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	if err != nil {
		fmt.Println(err)
		return
	}
	receipt.Wait(ctx)

	file, err := inspect.Open(ctx, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	letter, err := file.DeadLetter(ctx, event.Key{EventID: receipt.ID, Subscription: "welcome"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, line, _ := strings.Cut(letter.LastAttempt().Log, " ") // without its time
	fmt.Print(line)
	// Output:
	// level=INFO msg="sending a mail" to=ada@example.org
}
