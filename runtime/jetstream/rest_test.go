package jetstream_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// Nobody who publishes waits for a sweep, so a sweep lets nobody in.
func TestAPurgeOfManyDeadLettersRestsNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := context.Background(), servertest.Start(t, t.TempDir())
		through := jetstream.Through(func(string) (*nats.Conn, error) {
			return s.Connect(append(jetstream.ClientOptions(), nats.PingInterval(time.Hour))...)
		})
		bus, err := runtime.Open(ctx, "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)), jetstream.Engine(through, jetstream.InMemory()))
		conformance.Must(t, err)
		defer bus.Shutdown(ctx)
		const letters = 1000
		_, err = runtime.Subscribe(bus, conformance.PlacedType, "orders", func(context.Context, runtime.Event[conformance.OrderPlaced]) error {
			return runtime.Permanent(context.Canceled)
		})
		conformance.Must(t, err)
		_, err = runtime.PublishBatch(ctx, bus, conformance.PlacedType, make([]conformance.OrderPlaced, letters))
		conformance.Must(t, err)
		conformance.Must(t, bus.Start(ctx))
		conformance.Must(t, bus.WaitIdle(ctx))

		file, err := inspect.Open(ctx, "nats://test/bus", jetstream.Inspect(through))
		conformance.Must(t, err)
		defer file.Close()
		began := time.Now()
		counts, err := file.Purge(ctx, inspect.Selection{Filter: inspect.Filter{Until: began.Add(time.Second)}})
		conformance.Must(t, err)
		if took := time.Since(began); counts.Moved != letters || took >= 10*time.Millisecond { // a rest is 10 ms at least
			t.Errorf("it has taken %v to purge %d of %d dead letters; in virtual time that is none", took, counts.Moved, letters)
		}
	})
}
