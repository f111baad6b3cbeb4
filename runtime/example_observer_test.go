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
	"github.com/busgen/busgen/runtime/observe"
)

// An observer gives each attempt a number that its handler finds in its context, and learns
// what comes of it.
func ExampleObserver() {
	type key struct{}
	n := 0
	observer := observe.Observer{
		Handling: func(ctx context.Context, i observe.HandlingInfo) observe.Handling {
			n++
			name := fmt.Sprintf("%s/%d", i.Subscription, n)
			return observe.Handling{
				Context: context.WithValue(ctx, key{}, name),
				Logged:  []slog.Attr{slog.String("call", name)},
				Ended:   func(end observe.EndedInfo) { fmt.Println(name, "is", end.Outcome, end.Error) },
			}
		},
	}
	ctx := context.Background()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	bus, err := events.Open(ctx, filepath.Join(folder, "shop.db"),
		runtime.WithLogger(slog.New(slog.DiscardHandler)), runtime.WithObserver(observer))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	events.SubscribeUserRegistered(bus, "welcome", func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
		fmt.Println("this is", ctx.Value(key{}))
		if e.Attempt == 1 {
			return runtime.RetryAfter(0, errors.New("the mail server is busy"))
		}
		return nil
	})
	bus.Start(ctx)
	receipt, err := events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	if err != nil {
		fmt.Println(err)
		return
	}
	receipt.Wait(ctx)
	// Output:
	// this is welcome/1
	// welcome/1 is retried the mail server is busy
	// this is welcome/2
	// welcome/2 is handled
}
