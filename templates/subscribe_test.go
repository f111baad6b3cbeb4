package templates

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dave/jennifer/jen"
)

func TestSubscribeFunctionsGoFromOneEventToAll(t *testing.T) {
	c := parsed(t, `
events:
  ml.run.started:
    timeout: 5m
    retry: { max_attempts: 1 }
`)
	emits(t, `
// The functions below give the runtime a function that calls the handler, and
// not the handler itself: then the compiler does not have to make the runtime's
// part of a subscription for each payload again. That is why they assert types.
// A wrong handler is an error of the compiler all the same: it does not fit the
// parameter.

// SubscribeMLRunStarted calls handler for every ml.run.started, with the
// settings of [MLRunStartedType]. See [runtime.Subscribe].
func SubscribeMLRunStarted(bus *runtime.Bus, name string, handler runtime.Handler[MLRunStarted], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return bind.Subscribe(bus, MLRunStartedType, name, handler, func(ctx context.Context, handler, e any) error {
		return handler.(runtime.Handler[MLRunStarted])(ctx, *e.(*runtime.Event[MLRunStarted]))
	}, opts)
}

// SubscribeAll calls handler for every event of this catalogue, each with the
// settings of its own type. See [runtime.SubscribeNamespace].
func SubscribeAll(bus *runtime.Bus, name string, handler runtime.Handler[AnyEvent], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return bind.SubscribeNamespace(bus, "*", name, handler, func(ctx context.Context, handler, e any) error {
		return handler.(runtime.Handler[AnyEvent])(ctx, *e.(*runtime.Event[AnyEvent]))
	}, opts)
}
`, subscribe(c)...)
}

func TestANamespaceOfSeveralEventsHasAFunction(t *testing.T) {
	c := parsed(t, "events: { ml.run.started: {}, ml.run.ended: {}, ui.opened: {} }\n")
	var code []jen.Code
	for _, one := range subscribe(c) {
		if text := fmt.Sprintf("%#v", one); strings.Contains(text, "bind.SubscribeNamespace(") && !strings.Contains(text, "SubscribeAll(") {
			code = append(code, one)
		}
	}
	emits(t, `
// SubscribeML calls handler for every event of ml.*, each with the settings of
// its own type. See [runtime.SubscribeNamespace].
func SubscribeML(bus *runtime.Bus, name string, handler runtime.Handler[MLEvent], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return bind.SubscribeNamespace(bus, "ml.*", name, handler, func(ctx context.Context, handler, e any) error {
		return handler.(runtime.Handler[MLEvent])(ctx, *e.(*runtime.Event[MLEvent]))
	}, opts)
}

// SubscribeMLRun calls handler for every event of ml.run.*, each with the
// settings of its own type. See [runtime.SubscribeNamespace].
func SubscribeMLRun(bus *runtime.Bus, name string, handler runtime.Handler[MLRunEvent], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return bind.SubscribeNamespace(bus, "ml.run.*", name, handler, func(ctx context.Context, handler, e any) error {
		return handler.(runtime.Handler[MLRunEvent])(ctx, *e.(*runtime.Event[MLRunEvent]))
	}, opts)
}

`, code...)
}

func TestDeclaredSubscriptionsHaveNamesOfTheirOwnTypeAboveTheFunctionThatTakesThem(t *testing.T) {
	c := parsed(t, `
events:
  order.placed:
    subscriptions:
      send-receipt: {}
      charge-card: { doc: Takes the money., timeout: 1m }
      count.skus: { retry: { max_attempts: 1 } }
      print: { timeout: 30s, retry: { max_attempts: 4 } }
`)
	emits(t, `
// The functions below give the runtime a function that calls the handler, and
// not the handler itself: then the compiler does not have to make the runtime's
// part of a subscription for each payload again. That is why they assert types.
// A wrong handler is an error of the compiler all the same: it does not fit the
// parameter.

// OrderPlacedSubscription names a subscription of order.placed: one that the
// catalogue declares, or one of [UndeclaredOrderPlaced].
type OrderPlacedSubscription struct {
	name string
}

// String returns the name.
func (s OrderPlacedSubscription) String() string { return s.name }

// UndeclaredOrderPlaced names a subscription of order.placed that the catalogue
// does not declare. It gets the events that are published from its first
// SubscribeOrderPlaced on.
func UndeclaredOrderPlaced(name string) OrderPlacedSubscription { return OrderPlacedSubscription{name} }

// The subscriptions of order.placed that the catalogue declares. They exist
// from Open on: each keeps its events until SubscribeOrderPlaced is called with
// its name.
var (
	// OnOrderPlacedSendReceipt is the subscription send-receipt of order.placed.
	OnOrderPlacedSendReceipt = OrderPlacedSubscription{"send-receipt"}

	// OnOrderPlacedChargeCard is the subscription charge-card of order.placed.
	//
	// Takes the money.
	OnOrderPlacedChargeCard = OrderPlacedSubscription{"charge-card"}

	// OnOrderPlacedCountSKUs is the subscription count.skus of order.placed.
	OnOrderPlacedCountSKUs = OrderPlacedSubscription{"count.skus"}

	// OnOrderPlacedPrint is the subscription print of order.placed.
	OnOrderPlacedPrint = OrderPlacedSubscription{"print"}
)

// SubscribeOrderPlaced calls handler for every order.placed, with the settings
// of [OrderPlacedType]. See [runtime.Subscribe].
func SubscribeOrderPlaced(bus *runtime.Bus, name OrderPlacedSubscription, handler runtime.Handler[OrderPlaced], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return bind.Subscribe(bus, OrderPlacedType, name.name, handler, func(ctx context.Context, handler, e any) error {
		return handler.(runtime.Handler[OrderPlaced])(ctx, *e.(*runtime.Event[OrderPlaced]))
	}, opts)
}
`, subscribe(c)[:6]...)
}
