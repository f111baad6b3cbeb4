package browsertest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/examples/generated/eventstest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/inspect/page"
	"github.com/busgen/busgen/runtime/inspect/page/fromfile"
)

// mount is where the tests mount the page.
const mount = "/x/y/"

// shop is a bus with its page.
type shop struct {
	address string
	bus     *runtime.Bus
	server  *httptest.Server
	tabs    atomic.Int64 // that listen
	gone    atomic.Bool  // it answers no tab that listens
}

// openShop makes a shop after a bad night, with deliveries in every state, and serves its page.
func openShop(t *testing.T) *shop {
	t.Helper()
	ctx := t.Context()
	catalogue, err := os.ReadFile("../../../../examples/events.yaml")
	must(t, err)
	t.Chdir(t.TempDir()) // so that the names of files on the page are short
	must(t, os.WriteFile("events.yaml", catalogue, 0o600))
	bus, err := events.Open(ctx, "shop.db", runtime.WithLogger(slog.New(slog.DiscardHandler)))
	must(t, err)
	t.Cleanup(func() { bus.Shutdown(context.Background()) })
	subscribe(t, bus)
	must(t, bus.Start(ctx))
	_, err = events.PublishUserRegistered(ctx, bus, eventstest.SampleUserRegistered())
	must(t, err)
	_, err = events.PublishUserRegistered(ctx, bus, eventstest.SampleUserRegistered(), runtime.WithDelay(time.Hour))
	must(t, err)
	for n := range 24 {
		order := eventstest.SampleOrderPlaced()
		order.Number = int64(1000 + n)
		_, err := events.PublishOrderPlaced(ctx, bus, order, runtime.WithCorrelationID(fmt.Sprint("checkout-", n)))
		must(t, err)
	}
	file, err := inspect.Open(ctx, "shop.db", inspect.WithActor("ada"), inspect.WithEditing(events.Catalogue.Check))
	must(t, err)
	t.Cleanup(func() { file.Close() })
	for range 200 { // until the handlers have failed
		if n, err := file.CountDeadLetters(ctx, event.Filter{}); err == nil && n >= 10 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	must(t, file.PauseSubscription(ctx, "print-gift-card", "the printer is out of paper"))
	known, err := fromfile.Catalogue("events.yaml")
	must(t, err)
	p, err := page.New(file, known, page.WithActions(func(*http.Request) (string, bool) { return "ada", true }))
	must(t, err)
	t.Cleanup(func() { p.Close() })
	mux := http.NewServeMux()
	s := &shop{bus: bus}
	mux.Handle(mount, p)
	mux.HandleFunc(mount+"live", func(w http.ResponseWriter, r *http.Request) {
		if s.gone.Load() {
			panic(http.ErrAbortHandler)
		}
		s.tabs.Add(1)
		defer s.tabs.Add(-1)
		p.ServeHTTP(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	s.address, s.server = server.URL+mount, server
	return s
}

func subscribe(t *testing.T, bus *runtime.Bus) {
	t.Helper()
	_, err := events.SubscribeOrderPlaced(bus, events.OnOrderPlacedChargeCard, func(ctx context.Context, e runtime.Event[events.OrderPlaced]) error {
		switch n := e.Payload.Number; {
		case n%3 == 0:
			runtime.Logger(e).Info("asking the bank", "order", n)
			return runtime.Permanent(fmt.Errorf("order %d: dial tcp 192.0.2.7:443: connection refused", n))
		case n == 1001:
			return errors.New("the bank does not answer")
		case n == 1003:
			panic("negative amount <b>of money</b>")
		}
		_, err := events.PublishPaymentCaptured(ctx, bus, eventstest.SamplePaymentCaptured())
		return err
	})
	must(t, err)
	_, err = events.SubscribeOrderPlaced(bus, events.OnOrderPlacedSendReceipt, func(_ context.Context, e runtime.Event[events.OrderPlaced]) error {
		if n := e.Payload.Number; n%10 == 5 {
			return runtime.Permanent(fmt.Errorf(`order %d: the mail server refuses "ada@example.org"`, n))
		}
		return nil
	})
	must(t, err)
	_, err = events.SubscribeOrderPlaced(bus, events.OnOrderPlacedPrintGiftCard, func(context.Context, runtime.Event[events.OrderPlaced]) error { return nil })
	must(t, err)
	_, err = events.SubscribeUserRegistered(bus, "greeter", func(context.Context, runtime.Event[events.UserRegistered]) error { return nil })
	must(t, err)
	// Its circuit breaker opens at once, and stays open.
	_, err = events.SubscribeUserRegistered(bus, "newsletter", func(context.Context, runtime.Event[events.UserRegistered]) error {
		return errors.New("the mail provider does not answer")
	}, runtime.WithBreaker(breaker.On(), breaker.MinSamples(1), breaker.OpenFor(time.Hour)))
	must(t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
