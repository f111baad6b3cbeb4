package busfile

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// shop is a program with a bus in shop.db in the current folder, on which the
// verbs are tried. Orders without an @ in their address cannot get a receipt, and
// no payment works while the provider is down.
type shop struct {
	*runtime.Bus
	t    *testing.T
	down atomic.Bool
	calm atomic.Bool // no payment ends the process
	// What the handlers have done.
	receipts, paid, booked atomic.Int64
	dying                  chan struct{} // of a handler that ends its process; nil where none does
}

// chatty is the order whose payment logs what it does.
const chatty = 77

// night is when the shop opens.
var night = time.Date(2026, 3, 14, 2, 40, 0, 0, time.UTC)

// inShop runs f beside a running shop, in virtual time. Nothing was published.
func inShop(t *testing.T, f func(t *testing.T, s *shop)) {
	t.Helper()
	inFolder(t, map[string]string{"events.yaml": clitest.ShopCatalogue})
	t.Setenv("COLUMNS", "")
	program := os.Args[0]
	os.Args[0] = filepath.FromSlash("/usr/local/bin/shop")
	defer func() { os.Args[0] = program }()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(night))
		s := &shop{t: t}
		s.open()
		defer func() { s.Shutdown(context.Background()) }()
		f(t, s)
	})
}

// open starts the program.
func (s *shop) open() {
	s.t.Helper()
	bus, err := runtime.Open(s.t.Context(), "shop.db", runtime.NewCatalogue(clitest.OrderType, clitest.PaymentType),
		runtime.WithLogger(slog.New(slog.DiscardHandler)), runtime.WithDurability(runtime.Normal))
	must(s.t, err)
	s.Bus = bus
	s.subscribe()
	must(s.t, bus.Start(s.t.Context()))
}

func (s *shop) subscribe() {
	_, err := runtime.Subscribe(s.Bus, clitest.OrderType, "send-receipt", func(ctx context.Context, e runtime.Event[clitest.OrderPlaced]) error {
		switch {
		case e.Payload.Email == tarpit:
			time.Sleep(20 * time.Minute) // and ignores its deadline
		case e.Payload.Email == sluggish && e.Attempt == 1:
			select {
			case <-time.After(5 * time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if !strings.Contains(e.Payload.Email, "@") {
			return runtime.Permanent(fmt.Errorf("order %d: the mail server refuses %q", e.Payload.Number, e.Payload.Email))
		}
		s.receipts.Add(1)
		return nil
	}, runtime.WithTimeout(2*time.Minute))
	must(s.t, err)
	_, err = runtime.Subscribe(s.Bus, clitest.PaymentType, "charge-card", func(ctx context.Context, e runtime.Event[clitest.PaymentRequested]) error {
		if e.Payload.Cents == poison && !s.calm.Load() {
			return s.die(ctx)
		}
		if e.Payload.Cents < 0 {
			panic(fmt.Sprintf("order %d: negative amount", e.Payload.Order))
		}
		if hangs := e.Payload.Cents - hanging; hangs > 0 && e.Attempt == 1 {
			time.Sleep(time.Duration(hangs) * time.Second) // and ignores its deadline
		}
		if e.Payload.Order == chatty {
			for n := range 5 {
				runtime.Logger(e).Info("asked the provider", "attempt", e.Attempt, "line", n, "answer", "\x1b[31mno\nwait\u202e")
			}
		}
		if s.down.Load() {
			return fmt.Errorf("order %d: dial tcp 10.0.0.7:443: connection refused", e.Payload.Order)
		}
		s.paid.Add(1)
		return nil
	})
	must(s.t, err)
	_, err = runtime.Subscribe(s.Bus, clitest.OrderType, "ledger", func(context.Context, runtime.Event[clitest.OrderPlaced]) error { s.booked.Add(1); return nil })
	must(s.t, err)
}

// order places an order, and requests its payment ten seconds later.
func (s *shop) order(number int, email string, cents int64) {
	s.t.Helper()
	_, err := runtime.Publish(s.t.Context(), s.Bus, clitest.OrderType, clitest.OrderPlaced{Number: number, Email: email}, runtime.WithCorrelationID(fmt.Sprintf("checkout-%d", number)))
	must(s.t, err)
	time.Sleep(10 * time.Second)
	_, err = runtime.Publish(s.t.Context(), s.Bus, clitest.PaymentType, clitest.PaymentRequested{Order: number, Cents: cents})
	must(s.t, err)
}

// badNight places 20 orders, a minute apart: number 5 with an address that is
// none, number 9 with an amount that makes its handler panic. From number 11 on
// the payment provider is down.
func (s *shop) badNight() {
	s.t.Helper()
	for n := 1; n <= 20; n++ {
		email, cents := fmt.Sprintf("customer%d@example.org", n), int64(1000+n)
		switch n {
		case 5:
			email = "customer5"
		case 9:
			cents = -1
		case 11:
			s.down.Store(true)
		}
		s.order(n, email, cents)
		time.Sleep(50 * time.Second)
	}
}

// hanging is an amount in cents: each cent above it is a second for which the
// handler of the payment ignores its context.
const hanging = 1_000_000

// pay requests the payment of an order that nobody has placed.
func (s *shop) pay(order int, cents int64) {
	s.t.Helper()
	_, err := runtime.Publish(s.t.Context(), s.Bus, clitest.PaymentType, clitest.PaymentRequested{Order: order, Cents: cents})
	must(s.t, err)
}

// breakDown has the payment provider go down while payments have a circuit
// breaker, until that is open.
func (s *shop) breakDown() {
	s.t.Helper()
	settings := clitest.ShopSettings()
	settings.Breaker.Off = false
	must(s.t, s.Tune(runtime.Tuning{Types: map[string]declare.Settings{"payment.requested": settings}}))
	s.down.Store(true)
	time.Sleep(2 * time.Minute) // what went well before counts no longer
	for n := 31; n <= 35; n++ {
		s.pay(n, 3000)
		time.Sleep(time.Second)
	}
}
