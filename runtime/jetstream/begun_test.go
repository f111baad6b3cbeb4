package jetstream_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// Before a handler is called the servers store that it will be. While they elect a leader that takes longer than
// the handler may: it is not the handler's time.
func TestAHandlerIsNeitherSlowNorLateBeforeItHasBegun(t *testing.T) {
	for name, opts := range map[string][]runtime.SubscribeOption{"one by one": nil, "in batches": {runtime.WithBatch(10, 0)}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := servertest.Start(t, t.TempDir())
				var lags atomic.Bool
				lag := jetstream.Lagging(func() {
					if lags.Load() {
						time.Sleep(8 * time.Second)
					}
				})
				through := jetstream.Through(func(string) (*nats.Conn, error) { return s.Connect() })
				var log bytes.Buffer
				bus, err := runtime.Open(t.Context(), "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), jetstream.Engine(through, lag, jetstream.InMemory()))
				conformance.Must(t, err)
				defer bus.Shutdown(context.Background())
				calls := 0
				opts = append(opts, runtime.WithTimeout(5*time.Second), runtime.WithSlowAfter(time.Second))
				handle := func(ctx context.Context) error {
					calls++
					if deadline, ok := ctx.Deadline(); ctx.Err() != nil || !ok || time.Until(deadline) != 5*time.Second {
						t.Errorf("the handler has %v, and its context says %v", time.Until(deadline), ctx.Err())
					}
					time.Sleep(500 * time.Millisecond)
					return ctx.Err()
				}
				if name == "in batches" {
					_, err = runtime.SubscribeBatch(bus, conformance.PlacedType, "placed", func(ctx context.Context, _ []runtime.Event[conformance.OrderPlaced]) error { return handle(ctx) }, opts...)
				} else {
					_, err = runtime.Subscribe(bus, conformance.PlacedType, "placed", func(ctx context.Context, _ runtime.Event[conformance.OrderPlaced]) error { return handle(ctx) }, opts...)
				}
				conformance.Must(t, err)
				conformance.Must(t, bus.Start(t.Context()))
				time.Sleep(time.Minute)
				lags.Store(true)
				_, err = runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{Number: 1})
				conformance.Must(t, err)
				time.Sleep(time.Minute)
				lags.Store(false)
				conformance.Must(t, bus.WaitIdle(t.Context()))
				if calls != 1 || strings.Contains(log.String(), "is slow") || strings.Contains(log.String(), "failed") {
					t.Errorf("the handler was called %d times:\n%s", calls, log.String())
				}
			})
		})
	}
}
