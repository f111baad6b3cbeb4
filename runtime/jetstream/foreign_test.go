package jetstream_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// Somebody has published a message under the subjects of the bus by hand. The server stores it
// among the events, and everybody who reads them passes it.
func TestAMessageThatIsNoEventIsPassed(t *testing.T) {
	onLine(t, func(t *testing.T, bus *runtime.Bus, line *servertest.Line, _ func() int) {
		ctx := context.Background()
		nc, err := line.Connect()
		conformance.Must(t, err)
		defer nc.Close()
		_, err = nc.Request("bus.e.x", []byte("hello"), time.Second)
		conformance.Must(t, err)
		conformance.Must(t, publications["one"].publish(ctx, bus))

		late, err := runtime.Open(ctx, "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)),
			jetstream.Engine(jetstream.InMemory(), jetstream.Through(func(string) (*nats.Conn, error) { return line.Connect() })))
		conformance.Must(t, err)
		defer late.Shutdown(ctx)
		handled := 0
		_, err = runtime.Subscribe(late, conformance.PlacedType, "orders", func(context.Context, runtime.Event[conformance.OrderPlaced]) error {
			handled++
			return nil
		}, runtime.FromBeginning())
		conformance.Must(t, err)
		conformance.Must(t, late.Start(ctx))
		idle, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		conformance.Must(t, late.WaitIdle(idle))
		if handled != 2 {
			t.Errorf("%d events are handled, want 2", handled)
		}
	})
}
