package runtimetest_test

import (
	"context"
	"errors"
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

func TestDeadLettersAreThoseOfTheirEventInTheOrderOfTheirDeath(t *testing.T) {
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
