package runtime_test

import (
	"context"
	"fmt"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// A payload as a program published it that was deployed before.
type greetingV1 struct {
	Name string `json:"name"`
}

func (greetingV1) Validate() error { return nil }

// The same today.
type greeting struct {
	Names []string `json:"names"`
}

func (greeting) Validate() error { return nil }

// Generated code has such types and calls UpcastFrom; the function between them is
// what the user of a catalogue writes.
func ExampleUpcastFrom() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()

	// Yesterday's program.
	before := runtime.Define(runtime.Spec[greetingV1]{Name: "guest.greeted", Settings: declare.DefaultSettings()})
	bus, err := runtime.Open(ctx, path, runtime.NewCatalogue(before), silent)
	if err != nil {
		fmt.Println(err)
		return
	}
	runtime.Publish(ctx, bus, before, greetingV1{Name: "Ada"})
	bus.Shutdown(ctx)

	// Today's.
	today := runtime.Define(runtime.Spec[greeting]{
		Name: "guest.greeted", Settings: declare.DefaultSettings(), Version: 2,
		Upcasts: []runtime.Upcast{runtime.UpcastFrom(1, func(old greetingV1) (greeting, error) {
			return greeting{Names: []string{old.Name}}, nil
		})},
	})
	bus, err = runtime.Open(ctx, path, runtime.NewCatalogue(today), silent)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	runtime.Subscribe(bus, today, "count", func(_ context.Context, e runtime.Event[greeting]) error {
		fmt.Printf("%v, published as version %d\n", e.Payload.Names, e.Version)
		return nil
	}, runtime.FromBeginning())
	bus.Start(ctx)
	bus.WaitIdle(ctx)
	// Output: [Ada], published as version 1
}

// A subscription that is called something else from now on handles what its former
// name has left.
func ExampleWithAliases() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	greeted := runtime.Define(runtime.Spec[greeting]{Name: "guest.greeted", Settings: declare.DefaultSettings()})
	count := func(_ context.Context, e runtime.Event[greeting]) error {
		fmt.Println(e.Subscription, "has", e.Payload.Names)
		return nil
	}

	// Yesterday's program ends before it has counted.
	bus, err := runtime.Open(ctx, path, runtime.NewCatalogue(greeted), silent)
	if err != nil {
		fmt.Println(err)
		return
	}
	runtime.Subscribe(bus, greeted, "counter", count)
	runtime.Publish(ctx, bus, greeted, greeting{Names: []string{"Ada"}})
	bus.Shutdown(ctx)

	// Today's has a better name for it.
	bus, err = runtime.Open(ctx, path, runtime.NewCatalogue(greeted), silent)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	runtime.Subscribe(bus, greeted, "guest-counter", count, runtime.WithAliases("counter"))
	bus.Start(ctx)
	bus.WaitIdle(ctx)
	// Output: guest-counter has [Ada]
}
