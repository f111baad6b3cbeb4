package main

import (
	"errors"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/examples/generated/eventstest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/runtimetest"
)

// inShop runs f in virtual time, with the shop's handlers on the bus of a kit.
func inShop(t *testing.T, f func(t *testing.T, kit *runtimetest.Kit)) {
	t.Helper()
	eventstest.Run(t, func(t *testing.T, kit *runtimetest.Kit) {
		kit.Setup(makeTables)
		kit.Setup(func(bus *runtime.Bus) error { return (&shop{bus: bus, books: &books{}}).subscribe() })
		f(t, kit)
	}, runtime.WithErrorClass(events.ErrorTextTooLong, runtime.ErrorAs[*tooLongError]()))
}

// order returns an order without trouble. What the bank says depends on its number.
func order(number int64) events.OrderPlaced {
	order := eventstest.SampleOrderPlaced()
	order.OrderID, order.Number, order.Gift = uuid.New(), number, nil
	return order
}

func TestAnOrderIsPaidAndShipped(t *testing.T) {
	inShop(t, func(t *testing.T, kit *runtimetest.Kit) {
		placed := order(1)
		kit.Publish(placed)
		kit.Drain()

		paid := eventstest.Published[events.PaymentCaptured](kit)
		if len(paid) != 1 || paid[0].Payload.Amount != placed.Total {
			t.Errorf("paid: %+v", paid)
		}
		shipped := eventstest.Published[events.OrderShipped](kit)
		if len(shipped) != 1 || shipped[0].Payload.OrderID != placed.OrderID {
			t.Errorf("shipped: %+v", shipped)
		}
	})
}

func TestAnOrderThatTheBankDeclinesIsCancelled(t *testing.T) {
	inShop(t, func(t *testing.T, kit *runtimetest.Kit) {
		kit.Publish(order(21))
		kit.Drain()

		if paid := eventstest.Published[events.PaymentCaptured](kit); len(paid) != 0 {
			t.Errorf("paid: %+v", paid)
		}
		cancelled := eventstest.Published[events.OrderCancelled](kit)
		if len(cancelled) != 1 || cancelled[0].Payload.Reason != events.CancelReasonPaymentDeclined {
			t.Errorf("cancelled: %+v", cancelled)
		}
	})
}

func TestTheBankIsAskedAgainWhenItsLineDrops(t *testing.T) {
	inShop(t, func(t *testing.T, kit *runtimetest.Kit) {
		kit.Break(events.OnOrderPlacedChargeCard.String(), 2, runtimetest.Fails(errors.New("no dial tone")))
		kit.Publish(order(1))
		kit.Deliver()
		if paid := eventstest.Published[events.PaymentCaptured](kit); len(paid) != 0 {
			t.Errorf("paid at once: %+v", paid)
		}
		kit.Advance(time.Second) // two retries, after about 100 and 200 ms
		if paid := eventstest.Published[events.PaymentCaptured](kit); len(paid) != 1 {
			t.Errorf("paid a second later: %+v", paid)
		}
		if attempts := kit.Attempts(events.OnOrderPlacedChargeCard.String()); len(attempts) != 3 || attempts[2].Result != "handled" {
			t.Errorf("attempts: %+v", attempts)
		}
	})
}

func TestTheBankIsNotAskedMoreOftenThanItAnswers(t *testing.T) {
	eventstest.Run(t, func(t *testing.T, kit *runtimetest.Kit) {
		kit.Setup(makeTables)
		s := &shop{bus: kit.Bus, books: &books{}}
		if err := s.subscribe(); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			kit.Publish(order(1))
		}
		kit.Drain()
		if n := len(kit.Attempts(events.OnOrderPlacedChargeCard.String())); n != 20 || s.bank.busiest.Load() != 4 {
			t.Errorf("%d attempts, and up to %d calls at once", n, s.bank.busiest.Load())
		}
	})
}

func TestAnOrderIsPaidOnceEvenIfTheMachineCrashesMeanwhile(t *testing.T) {
	inShop(t, func(t *testing.T, kit *runtimetest.Kit) {
		kit.Break(events.OnOrderPlacedChargeCard.String(), 1, runtimetest.Hangs())
		kit.Publish(order(1))
		kit.Deliver()
		kit.Crash()
		kit.Drain()
		if paid := eventstest.Published[events.PaymentCaptured](kit); len(paid) != 1 {
			t.Errorf("paid: %+v", paid)
		}
	})
}

func TestAReceiptIsSentWhenTheProviderIsBack(t *testing.T) {
	eventstest.Run(t, func(t *testing.T, kit *runtimetest.Kit) {
		kit.Setup(makeTables)
		s := &shop{bus: kit.Bus, books: &books{}}
		if err := s.subscribe(); err != nil {
			t.Fatal(err)
		}
		placed := order(1)
		placed.Customer.Email = "grace@" + brokenProvider
		kit.Publish(placed)
		kit.Drain()

		letters := eventstest.DeadLetters[events.OrderPlaced](kit)
		if len(letters) != 1 || letters[0].Event.Subscription != events.OnOrderPlacedSendReceipt.String() || letters[0].Event.Attempt != 3 {
			t.Fatalf("dead letters: %+v", letters)
		}

		s.mail.repaired.Store(true)
		file, err := inspect.Open(t.Context(), kit.Path())
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.Retry(t.Context(), inspect.Selection{}); err != nil {
			t.Fatal(err)
		}
		kit.Drain()
		if letters := kit.AllDeadLetters(); len(letters) != 0 {
			t.Errorf("dead letters after the retry: %+v", letters)
		}
	})
}

// The sample of an order is a present without a message, which printGiftCard does not
// expect.
func TestTheSamplesFindTheBugInTheGiftCards(t *testing.T) {
	inShop(t, func(t *testing.T, kit *runtimetest.Kit) {
		kit.Publish(eventstest.Samples()...)
		kit.Drain()
		letters := kit.AllDeadLetters()
		if len(letters) != 1 || letters[0].Subscription != events.OnOrderPlacedPrintGiftCard.String() || letters[0].Attempts[0].Kind != "panic" {
			t.Errorf("dead letters: %+v", letters)
		}
	})
}

// Whoever answers first gets the parcel. The others are not needed any more.
func TestTheCarrierThatAnswersFirstGetsTheParcel(t *testing.T) {
	inShop(t, func(t *testing.T, kit *runtimetest.Kit) {
		kit.Break("pickup-DHL", 1, runtimetest.Fails(errors.New("no dial tone")))
		kit.Publish(order(1))
		kit.Drain()
		shipped := eventstest.Published[events.OrderShipped](kit)
		if len(shipped) != 1 || shipped[0].Payload.Carrier != events.CarrierUPS {
			t.Errorf("shipped: %+v", shipped)
		}
		attempts := kit.Attempts("pickup-DHL")
		if len(attempts) != 2 || attempts[1].Result != "discarded" || attempts[1].Error != "answered by pickup-UPS" {
			t.Errorf("attempts: %+v", attempts)
		}
	})
}

func TestACarrierCanBeAsked(t *testing.T) {
	inShop(t, func(t *testing.T, kit *runtimetest.Kit) {
		kit.Start()
		pickup, err := events.RequestParcelPickup(t.Context(), kit.Bus, eventstest.SampleParcelPickup())
		if err != nil || pickup.Carrier != events.CarrierDHL {
			t.Errorf("the answer is %+v with error %v", pickup, err)
		}
	})
}

func TestNoOrderIsLostInAPowerCut(t *testing.T) {
	short.Visit(t, "it runs programs")
	for seed := range uint64(10) {
		inShop(t, func(t *testing.T, kit *runtimetest.Kit) {
			kit.Start()
			for number := range int64(10) {
				kit.Publish(order(number))
			}
			kit.PowerCut(seed)
			kit.Drain()
			settled := map[uuid.UUID]bool{}
			for _, e := range eventstest.Published[events.PaymentCaptured](kit) {
				settled[e.Payload.OrderID] = true
			}
			if len(settled) != 10 {
				t.Errorf("seed %d: %d of 10 orders are paid", seed, len(settled))
			}
		})
	}
}
