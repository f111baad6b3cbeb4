package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

// A middleware of the bus counts how attempts end, and one of a subscription gives its
// handler less time.
func ExampleWithMiddleware() {
	counting := func(next runtime.Next) runtime.Next {
		return func(ctx context.Context, e runtime.Event[any]) error {
			err := next(ctx, e)
			fmt.Printf("%s, attempt %d of %s: %v\n", e.Subscription, e.Attempt, e.Type, err)
			return err
		}
	}
	hurried := func(next runtime.Next) runtime.Next {
		return func(ctx context.Context, e runtime.Event[any]) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return next(ctx, e)
		}
	}
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	bus, err := events.Open(ctx, filepath.Join(folder, "shop.db"),
		runtime.WithLogger(slog.New(slog.DiscardHandler)), runtime.WithMiddleware(counting))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	events.SubscribeUserRegistered(bus, "welcome", func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
		deadline, _ := ctx.Deadline()
		fmt.Println("less than a second:", time.Until(deadline) <= time.Second)
		if e.Attempt == 1 {
			return runtime.RetryAfter(0, errors.New("the mail server is busy"))
		}
		return nil
	}, runtime.WithHandlerMiddleware(hurried))
	bus.Start(ctx)
	receipt, err := events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	if err != nil {
		fmt.Println(err)
		return
	}
	receipt.Wait(ctx)
	// Output:
	// less than a second: true
	// welcome, attempt 1 of user.registered: the mail server is busy
	// less than a second: true
	// welcome, attempt 2 of user.registered: <nil>
}
