package runtime_test

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
)

// A customer cancels a report, which has a subscription of its own.
func ExampleBus_Remove() {
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	bus, err := events.Open(ctx, filepath.Join(folder, "shop.db"), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	events.SubscribeUserRegistered(bus, "report-17", func(context.Context, runtime.Event[events.UserRegistered]) error {
		return nil
	})
	bus.Start(ctx)
	fmt.Println(bus.Remove(ctx, "report-17"))
	var missing *event.NotFoundError
	fmt.Println(errors.As(bus.Remove(ctx, "report-17"), &missing))
	// Output:
	// <nil>
	// true
}
