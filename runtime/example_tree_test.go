package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
)

// step is a payload of the examples of trees.
type step struct {
	Number int `json:"number"`
}

func (step) Validate() error { return nil }

var stepTaken = runtime.Define(runtime.Spec[step]{Name: "step.taken", Settings: declare.DefaultSettings()})

// countdown opens a bus whose subscription publishes a step for each step, down to 1.
func countdown(ctx context.Context, path string, opts ...runtime.Option) (*runtime.Bus, error) {
	bus, err := runtime.Open(ctx, path, runtime.NewCatalogue(stepTaken), append(opts, silent)...)
	if err != nil {
		return nil, err
	}
	runtime.Subscribe(bus, stepTaken, "walker", func(ctx context.Context, e runtime.Event[step]) error {
		if e.Payload.Number == 1 {
			return nil
		}
		_, err := runtime.Publish(ctx, bus, stepTaken, step{e.Payload.Number - 1})
		return err
	})
	return bus, bus.Start(ctx)
}

// Everything that has come of an event, when all of it is settled.
func ExampleTree() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, err := countdown(ctx, path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	receipt, _ := runtime.Publish(ctx, bus, stepTaken, step{3})
	receipt.WaitTree(ctx)

	tree, err := runtime.Tree(ctx, bus, receipt.ID)
	if err != nil {
		fmt.Println(err)
		return
	}
	var print func(node *event.TreeNode)
	print = func(node *event.TreeNode) {
		fmt.Printf("%s%s of %q\n", strings.Repeat("  ", node.Hops), node.Payload, node.PublishedBy)
		for _, child := range node.Children {
			print(child)
		}
	}
	print(tree)
	// Output:
	// {"number":3} of ""
	//   {"number":2} of "walker"
	//     {"number":1} of "walker"
}

// A command waits until everything is done that its event leads to.
func ExampleReceipt_WaitTree() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, err := events.Open(ctx, path, silent)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	events.SubscribeUserRegistered(bus, "crm", func(ctx context.Context, e runtime.Event[events.UserRegistered]) error {
		_, err := events.PublishOrderCancelled(ctx, bus, events.OrderCancelled{OrderID: customer, Reason: events.CancelReasonPaymentDeclined})
		return err
	})
	events.SubscribeOrderCancelled(bus, "refund", func(context.Context, runtime.Event[events.OrderCancelled]) error {
		return runtime.Permanent(errors.New("no such payment"))
	})
	bus.Start(ctx)

	receipt, err := events.PublishUserRegistered(ctx, bus, events.UserRegistered{Email: "ada@example.org"})
	if err != nil {
		fmt.Println(err)
		return
	}
	tree, err := receipt.WaitTree(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(tree.Outcomes), "events")
	var dead *runtime.DeadLetteredError
	if errors.As(tree.Err(), &dead) {
		fmt.Println(dead.Deliveries[0].Subscription+":", dead.Deliveries[0].LastError)
	}
	// Output:
	// 2 events
	// refund: no such payment
}

// Handlers that publish in a circle end, with a dead letter that says why.
func ExampleWithHopLimit() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()
	bus, err := countdown(ctx, path, runtime.WithHopLimit(2))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bus.Shutdown(ctx)
	receipt, _ := runtime.Publish(ctx, bus, stepTaken, step{1000})
	tree, _ := receipt.WaitTree(ctx)
	var limit *runtime.HopLimitError
	if errors.As(tree.Err(), &limit) {
		fmt.Printf("%s publishes %s: hop %d, limit %d\n", limit.ParentType, limit.EventType, limit.Hops, limit.Limit)
	}
	// Output: step.taken publishes step.taken: hop 3, limit 2
}
