package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

// exampleFile returns a fresh file name; a program would use a fixed one.
func exampleFile() (path string, remove func()) {
	folder, err := os.MkdirTemp("", "busgen-example-")
	if err != nil {
		panic(err)
	}
	return filepath.Join(folder, "shop.db"), func() { os.RemoveAll(folder) }
}

// silent keeps the log out of the examples' output.
var silent = runtime.WithLogger(slog.New(slog.DiscardHandler))

var customer = uuid.MustParse("018f3c5e-0000-7000-8000-000000000001")

// From opening a file to a handled event.
func Example() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()

	bus, err := events.Open(ctx, path, silent)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)

	_, err = events.SubscribeUserRegistered(bus, "welcome-mail",
		func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
			fmt.Println("Welcome,", e.Payload.Email)
			return nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := bus.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}

	receipt, err := events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome, err := receipt.Wait(ctx)
	fmt.Println(len(outcome.Deliveries), "delivery settled, error", err)
	// Output:
	// Welcome, ada@example.org
	// 1 delivery settled, error <nil>
}

// A handler that switches over exactly the events of a namespace.
func ExampleSubscribeNamespace() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	events.SubscribeUser(bus, "audit", func(ctx context.Context, e runtime.Event[events.UserEvent]) error {
		switch user := e.Payload.(type) {
		case events.UserRegistered:
			fmt.Println(e.Type, user.Email)
		default:
			fmt.Println(e.Type)
		}
		return nil
	})
	bus.Start(ctx)
	events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	bus.WaitIdle(ctx)
	// Output:
	// user.registered ada@example.org
}

// A subscription by pattern sees the stored JSON.
func ExampleSubscribePattern() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	runtime.SubscribePattern(bus, "*", "mirror", func(ctx context.Context, e runtime.Event[runtime.Raw]) error {
		fmt.Println(e.Type, len(e.Payload) > 0, e.Metadata["request"])
		return nil
	})
	bus.Start(ctx)
	events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"},
		runtime.WithMetadata(map[string]string{"request": "42"}))
	bus.WaitIdle(ctx)
	// Output:
	// user.registered true 42
}

// Single fields of the retry policy can be overridden for one subscription.
func ExampleWithRetry() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	events.SubscribeUserRegistered(bus, "newsletter",
		func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
			fmt.Printf("attempt %d of %d\n", e.Attempt, e.MaxAttempts)
			if e.Attempt < 3 {
				return errors.New("the mail server is asleep")
			}
			return nil
		},
		runtime.WithRetry(retry.MaxAttempts(5), retry.BaseDelay(10*time.Millisecond)),
		runtime.WithTimeout(5*time.Second))
	bus.Start(ctx)
	events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	bus.WaitIdle(ctx)
	// Output:
	// attempt 1 of 5
	// attempt 2 of 5
	// attempt 3 of 5
}

// A publisher can say how one event is handled: here it goes first, and is not worth
// handling any more after five minutes. It would not overtake an event of the same user,
// which is its partition key.
func ExampleWithPriority() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	events.SubscribeUserRegistered(bus, "welcome",
		func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
			fmt.Println("welcome,", e.Payload.Email)
			return nil
		})
	events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: uuid.New(), Email: "in-a-hurry@example.org"},
		runtime.WithPriority(runtime.PriorityHigh), runtime.WithExpiry(5*time.Minute))
	bus.Start(ctx)
	bus.WaitIdle(ctx)
	// Output:
	// welcome, in-a-hurry@example.org
	// welcome, ada@example.org
}

// What cannot be handled is set aside with its errors, and can be retried.
func Example_deadLetters() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	broken := true
	events.SubscribeUserRegistered(bus, "crm",
		func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
			if broken {
				return errors.New("the CRM does not know the country")
			}
			fmt.Println("handled", e.Payload.Email)
			return nil
		},
		runtime.WithRetry(retry.MaxAttempts(1)))
	bus.Start(ctx)
	receipt, _ := events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	receipt.Wait(ctx)

	inspector, err := inspect.Open(ctx, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer inspector.Close()
	letters, _, _ := inspector.DeadLetters(ctx, event.Filter{}, event.Page{})
	for _, letter := range letters {
		fmt.Println(letter.Type, "for", letter.Subscription+":", letter.LastAttempt().Error)
	}

	broken = false
	inspector.Retry(ctx, inspect.Only(letters[0].Key))
	outcome, _ := receipt.Wait(ctx)
	fmt.Println("error", outcome.Err())
	// Output:
	// user.registered for crm: the CRM does not know the country
	// handled ada@example.org
	// error <nil>
}
