package runtime_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

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
		Name: "geocoder", Rate: 3, Per: 150 * time.Millisecond,
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

// A handler limits a part of what it does, for each customer. Other code waits as long as its context lasts.
func ExampleBus_Limiter() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, _ := events.Open(ctx, path, silent, runtime.WithLimit(declare.Limit{
		Name: "account", AtOnce: 1,
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

		other, cancel := context.WithTimeout(context.Background(), time.Millisecond) // of other code
		defer cancel()
		return account.DoFor(other, "ada", func(context.Context) error { return nil })
	})
	fmt.Println(err)

	_, err = bus.Limiter("acount")
	fmt.Println(err)
	// Output:
	// ada's account is ours
	// and bob's
	// context deadline exceeded
	// there is no limit "acount"; did you mean "account"?
}
