package compiletest

import (
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/short"
)

// Limits by a field of the payload, from the catalogue through generated code to the deliveries: a strict one, whose
// error has the names of limit and customer, and a lax one.
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
  account: { at_once: 1, wait: 2s }
  inbox: { at_once: 1, wait: 3s, lax: true }
types:
  Customer: { fields: { id: int64, email: string } }
events:
  order.placed:
    concurrency: 8
    breaker: off
    retry: { max_attempts: 2, backoff: constant, base_delay: 10s, jitter: 0 }
    errors: { no_turn: permanent }
    payload: { number: int, customer: Customer }
    subscriptions:
      charge: { limits: [{ limit: account, by: customer.id }] }
      mail: { limits: [{ limit: inbox, by: customer.email }] }
`

const limitedTest = `package shop

import (
	"context"
	"errors"
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
		noTurn := func(err error) bool {
			late, ok := errors.AsType[*runtime.LimitTimeoutError](err)
			if ok {
				say("limit %s of %s, after %v", late.Limit, late.Key, late.Wait)
			}
			return ok
		}
		bus, err := Open(t.Context(), filepath.Join(t.TempDir(), "shop.db"),
			runtime.WithLogger(slog.New(slog.DiscardHandler)), runtime.WithErrorClass(ErrorNoTurn, noTurn))
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
			"2s limit account of 7, after 2s", "3s mail 2 begins",
		}
		if slices.Sort(lines); !slices.Equal(lines, want) {
			t.Errorf("got  %q\nwant %q", lines, want)
		}
		lag, err := bus.Lag(t.Context())
		must(t, err)
		for _, l := range lag {
			if want := map[string]int{"charge": 1}[l.Subscription]; l.Dead != want {
				t.Errorf("%s has %d dead letters, want %d", l.Subscription, l.Dead, want)
			}
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
