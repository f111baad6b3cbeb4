package runtimetest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/runtimetest"
)

func TestPublishedHasWhatAHandlerWouldSee(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		time.Sleep(time.Hour)
		receipt, err := runtime.Publish(t.Context(), k.Bus, placedType, orderPlaced{Number: 1},
			runtime.WithMetadata(map[string]string{"tenant": "acme"}), runtime.WithCorrelationID("c1"))
		if err != nil {
			t.Fatal(err)
		}
		got := runtimetest.Published[orderPlaced](k)
		if len(got) != 1 {
			t.Fatalf("published %v", got)
		}
		e := got[0]
		if e.ID != receipt.ID || e.Type != "order.placed" || e.Payload.Number != 1 || !e.PublishedAt.Equal(time.Now()) ||
			e.Metadata["tenant"] != "acme" || e.CorrelationID != "c1" || e.Subscription != "" || e.Attempt != 0 {
			t.Errorf("%+v", e)
		}
	})
}

func TestPublishedIsWhatIsStored(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		if got := runtimetest.Published[orderPaid](k); got == nil || len(got) > 0 {
			t.Errorf("before anything: %#v", got)
		}
		k.Setup(func(bus *runtime.Bus) error {
			_, err := runtime.Subscribe(bus, placedType, "pay", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
				_, err := runtime.Publish(ctx, bus, paidType, orderPaid(e.Payload))
				if e.Payload.Number == 2 {
					return errors.Join(err, runtime.Permanent(errBoom))
				}
				return err
			})
			return err
		})
		place(t, k, 1, 2, 3)
		k.Drain()
		got := runtimetest.Published[orderPaid](k)
		if len(got) != 2 || got[0].Payload.Number != 1 || got[1].Payload.Number != 3 {
			t.Errorf("published %+v", got)
		}
	})
}

// What order.shipped carried in its first version.
type orderShippedV1 struct {
	Box int `json:"box"`
}

func (orderShippedV1) Validate() error { return nil }

type orderShipped struct {
	Boxes []int `json:"boxes"`
}

func (orderShipped) Validate() error { return nil }

func TestEventsOfAnOlderVersionAreDeliveredAndFoundAsTheNewest(t *testing.T) {
	shippedType := runtime.Define(runtime.Spec[orderShipped]{
		Name: "order.shipped", Settings: settings(), Version: 2,
		Upcasts: []runtime.Upcast{runtime.UpcastFrom(1, func(old orderShippedV1) (orderShipped, error) {
			return orderShipped{Boxes: []int{old.Box}}, nil
		})},
	})
	runtimetest.Run(t, runtime.NewCatalogue(shippedType), func(t *testing.T, k *runtimetest.Kit) {
		var boxes []int
		k.Setup(func(bus *runtime.Bus) error {
			_, err := runtime.Subscribe(bus, shippedType, "count", func(_ context.Context, e runtime.Event[orderShipped]) error {
				boxes = append(boxes, e.Payload.Boxes...)
				return nil
			})
			return err
		})
		k.PublishJSON("order.shipped", 1, `{"box":7}`)
		k.Publish(orderShipped{Boxes: []int{8, 9}})
		k.Drain()
		if !slices.Equal(boxes, []int{7, 8, 9}) {
			t.Errorf("handled %v", boxes)
		}
		if got := runtimetest.Published[orderShipped](k); len(got) != 2 || !slices.Equal(got[0].Payload.Boxes, []int{7}) || got[0].Version != 1 || got[1].Version != 2 {
			t.Errorf("published %+v", got)
		}
	})
}

func TestAPayloadThatCannotBeDecodedIsADeadLetterThatSaysSo(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		subscribe(k, "receipts", h.handle)
		k.PublishJSON("order.placed", 1, `{"number":"seven"}`)
		k.Drain()
		letters := runtimetest.DeadLetters[orderPlaced](k)
		if len(letters) != 1 || letters[0].Reason != "decode" || letters[0].Undecodable == nil || letters[0].Event.Version != 1 || string(letters[0].Raw) != `{"number":"seven"}` {
			t.Errorf("%+v", letters)
		}
	})
	failedWith(t, try(t, func(t testing.TB) {
		k := runtimetest.New(t, catalogue)
		k.PublishJSON("order.placed", 1, `{"number":"seven"}`)
		runtimetest.Published[orderPlaced](k)
	}), "Published: the payload of this order.placed event does not fit")
	failedWith(t, try(t, func(t testing.TB) { runtimetest.New(t, catalogue).PublishJSON("order.sent", 1, `{}`) }), "order.sent is not in the catalogue")
}

func TestPublishedReadsManyPages(t *testing.T) {
	k := runtimetest.New(t, catalogue)
	payloads := make([]orderPlaced, 2500)
	for i := range payloads {
		payloads[i].Number = i
	}
	if _, err := runtime.PublishBatch(t.Context(), k.Bus, placedType, payloads); err != nil {
		t.Fatal(err)
	}
	got := numbersOf(runtimetest.Published[orderPlaced](k))
	if len(got) != len(payloads) {
		t.Fatalf("%d events", len(got))
	}
	for i, n := range got {
		if i != n {
			t.Fatalf("event %d is number %d", i, n)
		}
	}
}

func TestAPayloadOfNoEventEndsTheTest(t *testing.T) {
	failedWith(t, try(t, func(t testing.TB) { runtimetest.Published[foreign](runtimetest.New(t, catalogue)) }),
		"no event of the catalogue has a runtimetest_test.foreign for its payload")
	failedWith(t, try(t, func(t testing.TB) { runtimetest.DeadLetters[foreign](runtimetest.New(t, catalogue)) }),
		"no event of the catalogue has a runtimetest_test.foreign for its payload")
}

func TestDeadLettersReturnsThoseOfOneEventOldestFirst(t *testing.T) {
	run(t, func(t *testing.T, k *runtimetest.Kit) {
		fail := func(context.Context, runtime.Event[orderPlaced]) error { return runtime.Permanent(errBoom) }
		subscribe(k, "receipts", fail)
		k.Setup(func(bus *runtime.Bus) error {
			_, err := runtime.Subscribe(bus, paidType, "ship", func(context.Context, runtime.Event[orderPaid]) error { panic("oops") })
			return err
		})
		for n := range 3 {
			place(t, k, n+1)
			k.Advance(time.Minute)
		}
		k.Publish(orderPaid{Number: 9})
		k.Drain()
		letters := runtimetest.DeadLetters[orderPlaced](k)
		if len(letters) != 3 {
			t.Fatalf("%+v", letters)
		}
		for i, l := range letters {
			if l.Event.Payload.Number != i+1 || l.Event.Subscription != "receipts" || l.Event.Attempt != 1 || l.Reason != "permanent" ||
				l.Kind != "error" || l.LastError != "boom" || l.Undecodable != nil || string(l.Raw) == "" || l.DeadAt.IsZero() {
				t.Errorf("%d: %+v", i, l)
			}
		}
		if paid := runtimetest.DeadLetters[orderPaid](k); len(paid) != 1 || paid[0].Kind != "panic" || paid[0].Event.Attempt != 3 {
			t.Errorf("%+v", paid)
		}
		if all := k.AllDeadLetters(); len(all) != 4 || all[3].Type != "order.paid" || len(all[3].Attempts) != 3 {
			t.Errorf("%+v", all)
		}
	})
}
