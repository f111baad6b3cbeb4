package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// Two subscriptions share a service that takes one call at a time.
func ExampleWithLimits() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
	defer bus.Shutdown(ctx)

	var calls, most atomic.Int32
	call := func(context.Context, runtime.Event[events.UserRegistered]) error {
		most.Store(max(most.Load(), calls.Add(1)))
		time.Sleep(time.Millisecond)
		calls.Add(-1)
		return nil
	}
	mail := runtime.WithLimits(declare.LimitUse{Limit: "mail"})
	events.SubscribeUserRegistered(bus, "welcome", call, mail, runtime.WithConcurrency(8))
	events.SubscribeUserRegistered(bus, "newsletter", call, mail, runtime.WithConcurrency(8))
	for range 5 {
		events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	}
	bus.Start(ctx)
	bus.WaitIdle(ctx)
	fmt.Println("calls at once:", most.Load())
	// Output: calls at once: 1
}

// Three calls may begin at once, and then one each 50 milliseconds, whoever makes them. A
// restart does not fill the rate up again.
func ExampleWithLimit() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent, runtime.WithLimit(declare.Limit{
		Name: "geocoder", Rate: 20, Per: time.Second, Burst: 3,
	}))
	defer bus.Shutdown(ctx)

	geocoder, _ := bus.Limiter("geocoder")
	began := time.Now()
	for range 5 {
		geocoder.Do(ctx, func(context.Context) error { return nil })
	}
	fmt.Println("five calls take 100 ms:", time.Since(began) >= 95*time.Millisecond)
	// Output: five calls take 100 ms: true
}

// A handler limits a part of what it does, for each customer. Elsewhere nobody waits for longer
// than a millisecond.
func ExampleBus_Limiter() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent, runtime.WithLimit(declare.Limit{
		Name: "account", AtOnce: 1, Wait: time.Millisecond,
	}))
	defer bus.Shutdown(ctx)

	account, err := bus.Limiter("account")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = account.DoFor(ctx, "ada", func(ctx context.Context) error {
		fmt.Println("ada's account is ours")
		account.DoFor(ctx, "bob", func(context.Context) error { fmt.Println("and bob's"); return nil })

		other := context.Background() // of somebody else
		return account.DoFor(other, "ada", func(context.Context) error { return nil })
	})
	var timeout *runtime.LimitTimeoutError
	fmt.Println(errors.As(err, &timeout), err)

	_, err = bus.Limiter("acount")
	fmt.Println(err)
	// Output:
	// ada's account is ours
	// and bob's
	// true limit "account" had no room for "ada" within 1ms
	// there is no limit "acount"; did you mean "account"?
}

// However many subscriptions there are, four handlers run at once.
func ExampleWithWorkers() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent, runtime.WithWorkers(4))
	defer bus.Shutdown(ctx)

	var running, most atomic.Int32
	for _, name := range []string{"welcome", "newsletter", "statistics"} {
		events.SubscribeUserRegistered(bus, name, func(context.Context, runtime.Event[events.UserRegistered]) error {
			if n := running.Add(1); n > 4 {
				most.Store(n)
			}
			time.Sleep(time.Millisecond)
			running.Add(-1)
			return nil
		}, runtime.WithConcurrency(8))
	}
	for range 10 {
		events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: customer, Email: "ada@example.org"})
	}
	bus.Start(ctx)
	bus.WaitIdle(ctx)
	fmt.Println("more than four at once:", most.Load() > 0)
	// Output: more than four at once: false
}

// A limit with HoldEvent is kept while an event waits for its next attempt: the next event begins when
// the first is settled.
func ExampleLimitHold() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent, runtime.WithLimit(declare.Limit{
		Name: "printer", AtOnce: 1, Hold: declare.HoldEvent,
	}))
	defer bus.Shutdown(ctx)

	events.SubscribeUserRegistered(bus, "print", func(_ context.Context, e runtime.Event[events.UserRegistered]) error {
		fmt.Println(e.Payload.Email, "attempt", e.Attempt)
		if e.Payload.Email == "ada@example.org" && e.Attempt == 1 {
			return runtime.RetryAfter(50*time.Millisecond, errors.New("a sheet is stuck"))
		}
		return nil
	}, runtime.WithLimits(declare.LimitUse{Limit: "printer"}), runtime.WithConcurrency(4))
	for _, name := range []string{"ada", "bob"} {
		events.PublishUserRegistered(ctx, bus, events.UserRegistered{UserID: uuid.New(), Email: name + "@example.org"})
	}
	bus.Start(ctx)
	bus.WaitIdle(ctx)
	// Output:
	// ada@example.org attempt 1
	// ada@example.org attempt 2
	// bob@example.org attempt 1
}
