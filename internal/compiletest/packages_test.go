package compiletest

import (
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/short"
)

// The events of all packages of a catalogue travel on one bus.
func TestThePackagesOfACatalogueShareABus(t *testing.T) {
	short.Visit(t, "it compiles programs")
	const path = "../catalog/parse/testdata/cases/valid_packages/events.yaml"
	c, findings, err := parse.Load(path)
	if err != nil || findings != nil {
		t.Fatal(err, findings)
	}
	module := newModule(t)
	addPackage(t, module, "shop", c)
	module.add("main.go", sharingProgram)
	const want = `*: MoneyMoved
*: PaymentReceived
*: ShopClosed
money.*: payments.MoneyMoved
payment.*: PaymentReceived
payment.received: payments.PaymentReceived of 7
`
	if got := module.run("run", "."); got != want {
		t.Errorf("the program says\n%swant\n%s", got, want)
	}
}

const sharingProgram = `package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	events "example.com/cases/shop"
	shoptest "example.com/cases/shop/eventstest"
	"example.com/cases/shop/payments"

	"github.com/busgen/busgen/runtime"
)

var (
	mu    sync.Mutex
	lines []string
)

func say(format string, args ...any) error {
	mu.Lock()
	defer mu.Unlock()
	lines = append(lines, fmt.Sprintf(format, args...))
	return nil
}

func main() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "shop")
	must(err)
	defer os.RemoveAll(dir)
	bus, err := events.Open(ctx, filepath.Join(dir, "shop.db"))
	must(err)
	defer bus.Shutdown(ctx)

	_, err = payments.SubscribePaymentReceived(bus, "a", func(_ context.Context, e runtime.Event[payments.PaymentReceived]) error {
		return say("payment.received: %T of %d", e.Payload, e.Payload.Paid.Amount)
	})
	must(err)
	anyEvent := func(of string) runtime.Handler[events.AnyEvent] {
		return func(_ context.Context, e runtime.Event[events.AnyEvent]) error {
			return say("%s: %s", of, reflect.TypeOf(e.Payload).Name())
		}
	}
	_, err = events.SubscribeAll(bus, "b", anyEvent("*"))
	must(err)
	_, err = events.SubscribePayment(bus, "c", anyEvent("payment.*"))
	must(err)
	_, err = payments.SubscribeMoney(bus, "d", func(_ context.Context, e runtime.Event[payments.MoneyEvent]) error {
		return say("money.*: %T", e.Payload)
	})
	must(err)
	must(bus.Start(ctx))

	received := shoptest.SamplePaymentReceivedOfPayments()
	received.Paid.Amount = 7
	_, err = payments.PublishPaymentReceived(ctx, bus, received)
	must(err)
	_, err = events.PublishShopClosed(ctx, bus, events.ShopClosed{})
	must(err)
	_, err = payments.PublishMoneyMoved(ctx, bus, payments.MoneyMoved{})
	must(err)
	must(bus.WaitIdle(ctx))
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
`
