package bind_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/examples/generated/eventstest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/ask"
	"github.com/busgen/busgen/runtime/gen/bind"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

func openCatalogue(t *testing.T, c *runtime.Catalogue) *runtime.Bus {
	t.Helper()
	bus, err := runtime.Open(t.Context(), filepath.Join(t.TempDir(), "events.db"), c, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	conformance.Must(t, err)
	t.Cleanup(func() { conformance.Must(t, bus.Shutdown(context.Background())) })
	return bus
}

// A careless edit of generated code must not read memory as what it is not.
func TestGeneratedCodeThatMixesUpTypesPanics(t *testing.T) {
	bus := openCatalogue(t, events.Catalogue)
	call := func(context.Context, any, any) error { return nil }
	placed := func(context.Context, runtime.Event[events.OrderPlaced]) error { return nil }
	answer := func(context.Context, any, any) (any, error) { return nil, nil }
	fetched := func(context.Context, runtime.Event[events.ParcelPickup]) (events.Pickup, error) {
		return events.Pickup{}, nil
	}
	for name, test := range map[string]struct {
		use  func()
		want string
	}{
		"a payload of another event": {
			func() {
				bind.Publish(t.Context(), bus, events.OrderPlacedType, new(events.OrderShipped), nil)
			},
			"bind.Publish(order.placed): the payload is a *events.OrderShipped, not a *events.OrderPlaced",
		},
		"no payload": {
			func() { bind.Publish(t.Context(), bus, events.OrderPlacedType, nil, nil) },
			"bind.Publish(order.placed): the payload is a <nil>, not a *events.OrderPlaced",
		},
		"a handler for another event": {
			func() {
				bind.Subscribe(bus, events.OrderShippedType, "s", runtime.Handler[events.OrderPlaced](placed), call, nil)
			},
			"bind.Subscribe(order.shipped): a runtime.Handler[",
		},
		"no handler": {
			func() { bind.Subscribe(bus, events.OrderPlacedType, "s", nil, call, nil) },
			"bind.Subscribe: a <nil> is no handler",
		},
		"a handler that answers": {
			func() {
				bind.Subscribe(bus, events.ParcelPickupType, "s", runtime.AnswerHandler[events.ParcelPickup, events.Pickup](fetched), call, nil)
			},
			"bind.Subscribe: a runtime.AnswerHandler[",
		},
		"an answering handler for another event": {
			func() {
				bind.Answer(bus, events.OrderShippedType, "s", runtime.AnswerHandler[events.ParcelPickup, events.Pickup](fetched), answer, nil)
			},
			"bind.Answer(order.shipped): a runtime.AnswerHandler[",
		},
		"a handler that does not answer": {
			func() {
				bind.Answer(bus, events.OrderPlacedType, "s", runtime.Handler[events.OrderPlaced](placed), answer, nil)
			},
			"bind.Answer: a runtime.Handler[",
		},
		"a request with a payload of another event": {
			func() {
				bind.Request(t.Context(), bus, events.ParcelPickupType, new(events.OrderShipped), (*events.Pickup)(nil), nil)
			},
			"bind.Request(parcel.pickup_requested): the payload is a *events.OrderShipped, not a *events.ParcelPickup",
		},
		"a request with a payload that is no pointer": {
			func() {
				bind.Request(t.Context(), bus, events.ParcelPickupType, events.ParcelPickup{}, (*events.Pickup)(nil), nil)
			},
			"bind.Request(parcel.pickup_requested): the payload is a events.ParcelPickup, not a *events.ParcelPickup",
		},
		"answers to a payload of another event": {
			func() {
				bind.Collect(t.Context(), bus, events.ParcelPickupType, new(events.OrderShipped), new([]ask.Answer[events.Pickup]), nil)
			},
			"bind.Collect(parcel.pickup_requested): the payload is a *events.OrderShipped, not a *events.ParcelPickup",
		},
		"answers to nowhere": {
			func() {
				bind.Collect(t.Context(), bus, events.ParcelPickupType, new(events.ParcelPickup), (*[]ask.Answer[events.Pickup])(nil), nil)
			},
			"bind.Collect: a *[]ask.Answer[",
		},
		"answers to a list of something else": {
			func() {
				bind.Collect(t.Context(), bus, events.ParcelPickupType, new(events.ParcelPickup), new([]events.Pickup), nil)
			},
			"bind.Collect: a *[]events.Pickup is no pointer to a list of answers",
		},
		"a function that takes no event": {
			func() {
				bind.SubscribeNamespace(bus, "order.*", "s", func(context.Context, events.OrderPlaced) error { return nil }, call, nil)
			},
			"bind.SubscribeNamespace: a func(context.Context, events.OrderPlaced) error is no handler",
		},
		"a function that takes a foreign event": {
			func() {
				type Event[T any] struct{ Payload T }
				bind.SubscribeNamespace(bus, "order.*", "s", func(context.Context, Event[events.OrderEvent]) error { return nil }, call, nil)
			},
			"is no handler",
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, test.want) {
					t.Errorf("it panics with %q, want %q", got, test.want)
				}
			}()
			test.use()
		})
	}
}

func TestSubscribeFunctionsOfGeneratedCodeRefuseANilHandler(t *testing.T) {
	bus := openCatalogue(t, events.Catalogue)
	_, one := events.SubscribeOrderPlaced(bus, events.UndeclaredOrderPlaced("one"), nil)
	_, many := events.SubscribeOrder(bus, "many", nil)
	_, answering := events.AnswerParcelPickup(bus, "answering", nil)
	for _, err := range []error{one, many, answering} {
		if problem := new(runtime.SubscribeError); !errors.As(err, &problem) {
			t.Errorf("a nil handler: %v, want a *SubscribeError", err)
		}
	}
}

// What a handler keeps is its own, although the memory of its event serves the next one.
func TestAnEventOfGeneratedCodeIsTheHandlersOwn(t *testing.T) {
	bus := openCatalogue(t, events.Catalogue)
	var all, orders []string
	var kept []*runtime.Event[events.OrderShipped]
	second := func(_ *runtime.Subscription, err error) { conformance.Must(t, err) }
	second(events.SubscribeOrderShipped(bus, "one", func(_ context.Context, e runtime.Event[events.OrderShipped]) error {
		kept = append(kept, &e)
		return nil
	}))
	second(events.SubscribeOrder(bus, "orders", func(_ context.Context, e runtime.Event[events.OrderEvent]) error {
		orders = append(orders, e.Payload.(events.OrderShipped).TrackingCode+e.CorrelationID)
		return nil
	}))
	second(events.SubscribeAll(bus, "all", func(_ context.Context, e runtime.Event[events.AnyEvent]) error {
		all = append(all, e.Payload.(events.OrderShipped).TrackingCode+e.CorrelationID)
		return nil
	}))
	conformance.Must(t, bus.Start(t.Context()))
	for i, code := range []string{"one", "two", "three"} {
		payload := eventstest.SampleOrderShipped()
		payload.TrackingCode = code
		var opts []runtime.PublishOption
		if i == 0 {
			opts = append(opts, runtime.WithCorrelationID("!"))
		}
		receipt, err := events.PublishOrderShipped(t.Context(), bus, payload, opts...)
		conformance.Must(t, err)
		_, err = receipt.Wait(t.Context())
		conformance.Must(t, err)
	}
	var got []string
	for _, e := range kept {
		got = append(got, e.Payload.TrackingCode+e.CorrelationID)
	}
	for _, got := range [][]string{got, orders, all} {
		if strings.Join(got, " ") != "one! two three" {
			t.Errorf("a handler has %q, want the three events", got)
		}
	}
}
