package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/examples/generated/eventstest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/runtimetest"
)

// inBooks runs f in virtual time with the books of a shop.
func inBooks(t *testing.T, f func(t *testing.T, kit *runtimetest.Kit, b *books), opts ...runtime.Option) {
	t.Helper()
	eventstest.Run(t, func(t *testing.T, kit *runtimetest.Kit) {
		s := &shop{books: &books{}}
		kit.Setup(makeTables)
		kit.Setup(func(bus *runtime.Bus) error {
			s.bus = bus
			return s.subscribe()
		})
		f(t, kit, s.books)
	}, opts...)
}

// payment returns a payment of some cents.
func payment(cents int64) events.PaymentCaptured {
	order := uuid.New()
	return events.PaymentCaptured{OrderID: order, Amount: euros(cents), Reference: order.String()} // its dedupe key
}

func TestPaymentsAreWrittenTogetherAndAWrongOneAlone(t *testing.T) {
	inBooks(t, func(t *testing.T, kit *runtimetest.Kit, b *books) {
		kit.Publish(payment(100), payment(0), payment(250))
		kit.Deliver()
		if b.writes != 0 {
			t.Errorf("%d writes before the batch is full or has waited", b.writes)
		}
		kit.Advance(200 * time.Millisecond)
		if b.writes != 1 || len(b.lines) != 2 {
			t.Errorf("%d writes of %d lines, want one of two", b.writes, len(b.lines))
		}
		letters := eventstest.DeadLetters[events.PaymentCaptured](kit)
		if len(letters) != 1 || letters[0].Event.Payload.Amount.Amount != 0 || letters[0].Event.Attempt != 1 {
			t.Errorf("dead letters: %+v", letters)
		}
	})
}

func TestTheBooksHaveEachPaymentOnce(t *testing.T) {
	db := filepath.Join(t.TempDir(), "shop.db")
	batch := []runtime.Event[events.PaymentCaptured]{{Payload: payment(100)}, {Payload: payment(250)}}
	for i := range batch {
		batch[i].ID = uuid.New()
	}
	for run := range 3 { // as after two crashes
		b, err := openBooks(db, run == 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.keep(context.Background(), batch[:min(run+1, 2)]); err != nil {
			t.Fatal(err)
		}
		b.Close()
		torn, err := os.OpenFile(db+".books", os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		torn.WriteString(`{"event":"018f4f2e-`)
		torn.Close()
	}
	b, err := openBooks(db, false)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	text, err := os.ReadFile(db + ".books")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), "\n") != 2 || len(b.lines) != 2 || b.lines[batch[1].ID].Amount != 250 {
		t.Errorf("the books are\n%s", text)
	}
}

func TestTheNightlyReportAddsUpTheDay(t *testing.T) {
	inBooks(t, func(t *testing.T, kit *runtimetest.Kit, b *books) {
		b.lines = map[uuid.UUID]bookedPayment{{}: {At: time.Now().Add(-25 * time.Hour), Amount: 100, Currency: events.CurrencyEUR}}
		kit.Publish(payment(250), payment(50))
		kit.Drain()
		kit.Fire("nightly-report")
		kit.Drain()
		written := eventstest.Published[events.ReportWritten](kit)
		if len(written) != 1 || written[0].Payload.Payments != 2 || written[0].Payload.Sums["EUR"] != 300 {
			t.Errorf("written: %+v", written)
		}
	})
}

// The times of the schedule come with the clock of the test, which begins at midnight in UTC.
func TestTheReportIsWrittenAtNightInBerlin(t *testing.T) {
	inBooks(t, func(t *testing.T, kit *runtimetest.Kit, _ *books) {
		kit.Advance(3 * time.Hour)
		written := eventstest.Published[events.ReportWritten](kit)
		if len(written) != 1 || written[0].Payload.Until.UTC().Format("15:04") != "02:00" { // it is winter
			t.Errorf("written: %+v", written)
		}
	}, runtimetest.WithSchedules())
}

// What the middleware of the shop adds is in the file: from which visit an order comes, and
// how long a handler that failed has worked.
func TestTheMiddlewareOfTheShopLeavesItsTraces(t *testing.T) {
	inBooks(t, func(t *testing.T, kit *runtimetest.Kit, _ *books) {
		kit.Start()
		placed := order(1)
		placed.Customer.Email = "grace@" + brokenProvider
		if _, err := events.PublishOrderPlaced(inSession(t.Context(), "visit-7"), kit.Bus, placed); err != nil {
			t.Fatal(err)
		}
		kit.Drain()
		stored := eventstest.Published[events.OrderPlaced](kit)
		if len(stored) != 1 || stored[0].Metadata["session"] != "visit-7" {
			t.Errorf("stored: %+v", stored)
		}
		file, err := inspect.Open(t.Context(), kit.Path())
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		letters, _, err := file.DeadLetters(t.Context(), event.Filter{}, event.Page{})
		if err != nil || len(letters) != 1 {
			t.Fatalf("dead letters: %+v, %v", letters, err)
		}
		for i, attempt := range letters[0].Attempts {
			if !strings.Contains(attempt.Log, `msg="the handler has returned" took=`) {
				t.Errorf("attempt %d has logged %q", i+1, attempt.Log)
			}
		}
	}, runtime.WithMiddleware(timed), runtime.WithPublishMiddleware(stamped))
}
