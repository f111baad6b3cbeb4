package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/examples/generated/eventstest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

func passOn(next runtime.Next) runtime.Next {
	return func(ctx context.Context, e runtime.Event[any]) error { return next(ctx, e) }
}

// What handlers keep of an event stays as it is, whatever becomes of the memory of others.
func TestAPayloadIsOfOneHandlerAlone(t *testing.T) {
	short.Visit(t, "it takes seconds")
	const orders = 300
	for name, opts := range map[string][]runtime.SubscribeOption{
		"a handler":                 nil,
		"a handler with middleware": {runtime.WithHandlerMiddleware(passOn)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bus, err := events.Open(t.Context(), filepath.Join(t.TempDir(), "events.db"), runtime.WithLogger(slog.New(slog.DiscardHandler)))
				conformance.Must(t, err)
				defer func() { conformance.Must(t, bus.Shutdown(context.Background())) }()
				var mu sync.Mutex
				var kept []events.OrderPlaced
				var all sync.WaitGroup
				for _, subscription := range []string{"one", "two"} {
					_, err := events.SubscribeOrderPlaced(bus, events.UndeclaredOrderPlaced(subscription), func(_ context.Context, e runtime.Event[events.OrderPlaced]) error {
						mu.Lock()
						kept = append(kept, e.Payload)
						mu.Unlock()
						if e.Attempt == 1 {
							switch e.Payload.Number % 50 {
							case 7:
								return errors.New("on purpose")
							case 8:
								panic("on purpose")
							}
						}
						all.Done()
						return nil
					}, append(opts, runtime.WithConcurrency(8))...)
					conformance.Must(t, err)
					all.Add(orders)
				}
				conformance.Must(t, bus.Start(t.Context()))
				var sent []events.OrderPlaced
				for n := range orders {
					order := eventstest.SampleOrderPlaced()
					order.Number = int64(n + 1)
					order.OrderID = uuid.New() // its key
					order.Lines[0].Article = fmt.Sprintf("A-%d", n+1)
					sent = append(sent, order)
					_, err := events.PublishOrderPlaced(t.Context(), bus, order)
					conformance.Must(t, err)
				}
				all.Wait()
				for _, got := range kept {
					if got.Number < 1 || got.Number > orders {
						t.Fatalf("there is no order %d", got.Number)
					}
					if diff := cmp.Diff(sent[got.Number-1], got); diff != "" {
						t.Fatalf("order %d (-sent +kept):\n%s", got.Number, diff)
					}
				}
				if again := orders / 50 * 2 * 2; len(kept) != 2*orders+again {
					t.Errorf("handlers got %d payloads, want %d", len(kept), 2*orders+again)
				}
			})
		})
	}
}
