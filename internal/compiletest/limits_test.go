package compiletest

import (
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/short"
)

// Limits by a field of the payload, from the catalogue through generated code to the deliveries.
func TestLimitsByAFieldOfThePayloadHoldInGeneratedCode(t *testing.T) {
	short.Visit(t, "it compiles programs")
	c, findings := parse.Text("events.yaml", []byte(limitedCatalogue))
	if findings != nil {
		t.Fatal(findings)
	}
	module := newModule(t)
	addPackage(t, module, "shop", c)
	module.add("shop/limits_test.go", limitedTest)
	module.run("test", "./shop")
}

const limitedCatalogue = `version: 1
package: shop
limits:
  account: { at_once: 1 }
  inbox: { at_once: 1 }
types:
  Customer: { fields: { id: int64, email: string } }
events:
  order.placed:
    concurrency: 8
    breaker: off
    retry: { max_attempts: 2, backoff: constant, base_delay: 10s, jitter: 0 }
    payload: { number: int, customer: Customer }
    subscriptions:
      charge: { limits: [{ limit: account, by: customer.id }] }
      mail: { limits: [{ limit: inbox, by: customer.email }] }
`

const limitedTest = `package shop

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
)

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var lines []string
		start := time.Now()
		say := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, fmt.Sprintf("%v ", time.Since(start).Round(time.Second))+fmt.Sprintf(format, args...))
		}
		bus, err := Open(t.Context(), filepath.Join(t.TempDir(), "shop.db"),
			runtime.WithLogger(slog.New(slog.DiscardHandler)))
		must(t, err)
		defer bus.Shutdown(context.Background())
		slowly := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			say("%s %d begins", e.Subscription, e.Payload.Number)
			time.Sleep(10 * time.Second)
			return nil
		}
		_, err = SubscribeOrderPlaced(bus, OnOrderPlacedCharge, slowly)
		must(t, err)
		_, err = SubscribeOrderPlaced(bus, OnOrderPlacedMail, slowly)
		must(t, err)
		for number, customer := range []Customer{{7, "ada@example.org"}, {7, "ada@example.org"}, {8, "bob@example.org"}} {
			_, err := PublishOrderPlaced(t.Context(), bus, OrderPlaced{Number: number + 1, Customer: customer})
			must(t, err)
		}
		must(t, bus.Start(t.Context()))
		must(t, bus.WaitIdle(t.Context()))
		want := []string{
			"0s charge 1 begins", "0s charge 3 begins", "0s mail 1 begins", "0s mail 3 begins",
			"10s charge 2 begins", "10s mail 2 begins",
		}
		if slices.Sort(lines); !slices.Equal(lines, want) {
			t.Errorf("got  %q\nwant %q", lines, want)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
`
