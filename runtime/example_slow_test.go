package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

// A program in which two subscriptions may be saturated before somebody is told. A subscription is
// saturated when its handlers are busy for a minute while its backlog grows, so here none is. The log
// then names the setting that helps, such as WithConcurrency.
func ExampleHealth_saturated() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()

	health := observe.DefaultHealth()
	health.Saturated = 2
	bus, _ := events.Open(ctx, path, silent, runtime.WithHealth(health, func(c observe.HealthCheck) {
		if c.Name == observe.CheckSaturated && c.Exceeded {
			fmt.Println("too many are saturated, such as", c.Mostly)
		}
	}))
	defer bus.Shutdown(ctx)
	events.SubscribeUserRegistered(bus, "thumbnails",
		func(context.Context, runtime.Event[events.UserRegistered]) error { return nil }, runtime.WithConcurrency(8))
	bus.Start(ctx)
	events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	bus.WaitIdle(ctx)

	for _, check := range bus.Health().Checks {
		if check.Name == observe.CheckSaturated {
			fmt.Println("exceeded:", check.Exceeded, "threshold:", check.Threshold)
		}
	}
	thumbnails := bus.Stats().Subscriptions[0]
	fmt.Println(thumbnails.Name, "saturated:", thumbnails.Saturated)
	// Output:
	// exceeded: false threshold: 2
	// thumbnails saturated: false
}

// An event that has been tried for longer than this, and will be tried again, is reported once.
// The catalogue can say another time for some events (slow_event_after).
func ExampleWithSlowEventAfter() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent, runtime.WithSlowEventAfter(20*time.Millisecond), runtime.WithObserver(observe.Observer{
		SlowEvent: func(i observe.SlowEventInfo) {
			fmt.Println("slow:", i.Type, "for", i.Subscription, "because", i.Error, i.Age >= 20*time.Millisecond)
		},
	}))
	defer bus.Shutdown(ctx)

	events.SubscribeUserRegistered(bus, "welcome-mail",
		func(_ context.Context, e runtime.Event[events.UserRegistered]) error {
			if e.Attempt < 5 {
				return errors.New("the mail server is asleep")
			}
			return nil
		},
		runtime.WithRetry(retry.MaxAttempts(5), retry.WithBackoff(retry.Constant), retry.BaseDelay(20*time.Millisecond)))
	bus.Start(ctx)
	events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	bus.WaitIdle(ctx)
	// Output: slow: user.registered for welcome-mail because the mail server is asleep true
}
