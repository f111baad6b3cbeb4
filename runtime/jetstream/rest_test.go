package jetstream_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// Nobody who publishes waits for a sweep, so a sweep lets nobody in.
func TestAPurgeOfManyDeadLettersRestsNever(t *testing.T) {
	onLine(t, func(t *testing.T, bus *runtime.Bus, line *servertest.Line, _ func() int) {
		const letters = 1000
		ctx := context.Background()
		_, err := runtime.Subscribe(bus, conformance.UserType, "users", func(context.Context, runtime.Event[conformance.UserCreated]) error {
			return runtime.Permanent(context.Canceled)
		})
		conformance.Must(t, err)
		_, err = runtime.PublishBatch(ctx, bus, conformance.UserType, make([]conformance.UserCreated, letters))
		conformance.Must(t, err)
		conformance.Must(t, bus.Start(ctx))
		conformance.Must(t, bus.WaitIdle(ctx))

		file, err := inspect.Open(ctx, "nats://test/bus", jetstream.Inspect(jetstream.Through(func(string) (*nats.Conn, error) { return line.Other().Connect() })))
		conformance.Must(t, err)
		defer file.Close()
		began := time.Now()
		counts, err := file.Purge(ctx, inspect.Selection{Filter: event.Filter{Until: began.Add(time.Second)}})
		conformance.Must(t, err)
		if took := time.Since(began); counts.Moved != letters || took >= 10*time.Millisecond { // a rest is 10 ms at least
			t.Errorf("it has taken %v to purge %d of %d dead letters; in virtual time that is none", took, counts.Moved, letters)
		}
	})
}
