package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/observe"
)

// A handler gets three events at once, and fails for one of them.
func ExampleSubscribeBatch() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	runtime.SubscribeBatch(bus, events.UserRegisteredType, "newsletter", func(ctx context.Context, batch []runtime.Event[events.UserRegistered]) error {
		fmt.Println("a batch of", len(batch))
		var failed runtime.BatchError
		for i, e := range batch {
			fmt.Println(" ", e.Payload.Email, "attempt", e.Attempt)
			if e.Payload.Email == "bob@example.org" && e.Attempt == 1 {
				failed.Set(i, runtime.RetryAfter(10*time.Millisecond, errors.New("try later")))
			}
		}
		return failed.Err()
	}, runtime.WithBatch(3, 20*time.Millisecond))
	for _, name := range []string{"ada", "bob", "eve"} {
		events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: name + "@example.org"})
	}
	bus.Start(ctx)
	bus.WaitIdle(ctx)
	// Output:
	// a batch of 3
	//   ada@example.org attempt 1
	//   bob@example.org attempt 1
	//   eve@example.org attempt 1
	// a batch of 1
	//   bob@example.org attempt 2
}

// An observer hears when attempts start, and how each batch has ended.
func ExampleObserver_batch() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent, runtime.WithObserver(observe.Observer{
		Started: func(i observe.AttemptInfo) { fmt.Println(i.Subscription, "starts attempt", i.Attempt) },
		Batch: func(i observe.BatchInfo) {
			fmt.Println("a batch of", i.Size, "done:", i.Done, "failed:", i.Failed, "timed out:", i.TimedOut)
		},
	}))
	defer bus.Shutdown(ctx)

	runtime.SubscribeBatch(bus, events.UserRegisteredType, "newsletter", func(context.Context, []runtime.Event[events.UserRegistered]) error {
		return nil
	}, runtime.WithBatch(2, time.Minute)) // it begins when it is full
	for range 2 {
		events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	}
	bus.Start(ctx)
	bus.WaitIdle(ctx)
	// Output:
	// newsletter starts attempt 1
	// newsletter starts attempt 1
	// a batch of 2 done: 2 failed: 0 timed out: false
}
