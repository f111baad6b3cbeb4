package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

// Handlers of several events run at the same time. Those of one partition key still run one
// after the other. Stats says how many handlers a subscription has, and whether they
// are too few for what is published.
func ExampleWithConcurrency() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	var together sync.WaitGroup
	together.Add(3)
	events.SubscribeUserRegistered(bus, "thumbnails",
		func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
			together.Done()
			together.Wait() // until three handlers are at work
			return nil
		},
		runtime.WithConcurrency(3))
	bus.Start(ctx)
	for range 3 {
		events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: uuid.New(), Email: "ada@example.org"})
	}
	bus.WaitIdle(ctx)
	for _, s := range bus.Stats().Subscriptions {
		if s.Name == "thumbnails" {
			fmt.Println("handled:", s.Handled, "concurrency:", s.Concurrency, "saturated:", s.Saturated)
		}
	}
	// Output: handled: 3 concurrency: 3 saturated: false
}

// A handler without a timeout may take as long as it likes: its context has no deadline.
func ExampleWithoutTimeout() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	events.SubscribeUserRegistered(bus, "export",
		func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
			_, limited := ctx.Deadline()
			fmt.Println("limited:", limited)
			return nil
		},
		runtime.WithoutTimeout())
	bus.Start(ctx)
	events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	bus.WaitIdle(ctx)
	// Output: limited: false
}

// A publisher can give the attempts at one event less time than the catalogue does.
func ExampleWithAttemptTimeout() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	events.SubscribeUserRegistered(bus, "greeting",
		func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
			<-ctx.Done()
			return ctx.Err()
		},
		runtime.WithRetry(retry.MaxAttempts(1)))
	bus.Start(ctx)
	receipt, _ := events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"},
		runtime.WithAttemptTimeout(10*time.Millisecond))
	outcome, _ := receipt.Wait(ctx)
	for _, d := range outcome.Deliveries {
		if d.Subscription == "greeting" {
			fmt.Println("dead:", d.Dead, d.Reason)
		}
	}
	// Output: dead: true max_attempts
}

// An event that is not handled in time becomes a dead letter, here because its next
// attempt would be too late.
func ExampleWithExpiry() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent)
	defer bus.Shutdown(ctx)

	events.SubscribeUserRegistered(bus, "one-time-code",
		func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
			return runtime.RetryAfter(time.Hour, errors.New("the network is down"))
		})
	bus.Start(ctx)
	receipt, _ := events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"},
		runtime.WithExpiry(5*time.Minute))
	outcome, _ := receipt.Wait(ctx)
	for _, d := range outcome.Deliveries {
		if d.Subscription == "one-time-code" {
			fmt.Println("dead:", d.Dead, d.Reason)
		}
	}
	// Output: dead: true expired
}
