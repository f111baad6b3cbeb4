package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/bench/events" // without limits, with which the memory of attempts is not used again
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

// A handler may keep its context and its event. They stay those of its own attempt, which is over, whatever the memory
// behind them serves for.
func TestWhatAHandlerKeepsOfAnEventIsOfThatEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		bus, err := events.Open(t.Context(), filepath.Join(t.TempDir(), "events.db"), runtime.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		conformance.Must(t, err)
		defer func() { conformance.Must(t, bus.Shutdown(context.Background())) }()
		type kept struct {
			ctx context.Context
			e   runtime.Event[events.OrderPlaced]
		}
		orders := make([]events.OrderPlaced, 50)
		all := make(chan kept, len(orders))
		_, err = events.SubscribeOrderPlaced(bus, "keeper", func(ctx context.Context, e runtime.Event[events.OrderPlaced]) error {
			all <- kept{ctx, e}
			return nil
		})
		conformance.Must(t, err)
		conformance.Must(t, bus.Start(t.Context()))
		for i := range orders {
			orders[i].Currency = events.CurrencyEUR
		}
		_, err = runtime.PublishBatch(t.Context(), bus, events.OrderPlacedType, orders)
		conformance.Must(t, err)
		time.Sleep(time.Second)
		for i := range orders {
			one := <-all
			if one.ctx.Err() != context.Canceled {
				t.Fatalf("context %d says %v", i, one.ctx.Err())
			}
			if _, err := events.PublishOrderPlaced(one.ctx, bus, orders[0]); !errors.Is(err, runtime.ErrAttemptOver) {
				t.Fatalf("publishing with context %d: %v", i, err)
			}
			child, cancel := context.WithCancel(one.ctx)
			if <-child.Done(); child.Err() != context.Canceled {
				t.Fatalf("a context of context %d says %v", i, child.Err())
			}
			cancel()
			log.Reset()
			runtime.Logger(one.e).Info("late")
			if want := fmt.Sprintf("event_id=%v ", one.e.ID); !strings.Contains(log.String(), want) || !strings.Contains(log.String(), "attempt=1") {
				t.Fatalf("the logger of event %v writes %q", one.e.ID, log.String())
			}
		}
		if left := bus.Stats().Subscriptions[0].Counts.Handled; left != uint64(len(orders)) {
			t.Errorf("%d events are handled", left)
		}
	})
}
