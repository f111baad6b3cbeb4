package jetstream_test

import (
	"context"
	"fmt"
	"log/slog"
	gc "runtime"
	"testing"
	"testing/synctest"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// What a handler publishes is stored together with its success, in one batch. If that is more
// than a server accepts, nobody can store it, and the other events go on.
func TestAHandlerThatPublishesMoreThanABatchHasADeadLetter(t *testing.T) {
	gc.GC() // see onLine
	gc.GC()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s := servertest.StartWith(t, &natsserver.Options{
			JetStream: true, StoreDir: t.TempDir(), NoSystemAccount: true, JetStreamLimits: natsserver.JSLimitOpts{MaxBatchSize: 20},
		}, nil)
		through := jetstream.Through(func(string) (*nats.Conn, error) {
			return s.Connect(append(jetstream.ClientOptions(), nats.PingInterval(time.Hour))...)
		})
		bus, err := runtime.Open(ctx, "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)), jetstream.Engine(jetstream.InMemory(), through))
		conformance.Must(t, err)
		defer bus.Shutdown(ctx)
		_, err = runtime.Subscribe(bus, conformance.PlacedType, "orders", func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
			for i := range e.Payload.Number {
				if _, err := runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{OrderID: fmt.Sprint(i)}); err != nil {
					return err
				}
			}
			return nil
		})
		conformance.Must(t, err)
		paid := 0
		_, err = runtime.Subscribe(bus, conformance.PaidType, "paid", func(context.Context, runtime.Event[conformance.OrderPaid]) error {
			paid++
			return nil
		})
		conformance.Must(t, err)
		notices := 0
		_, err = runtime.SubscribeDead(bus, conformance.PlacedType, "letters", func(context.Context, runtime.Event[runtime.DeadLetter[conformance.OrderPlaced]]) error {
			notices++
			return nil
		})
		conformance.Must(t, err)
		conformance.Must(t, bus.Start(ctx))
		for _, n := range []int{1, 30, 1} {
			_, err = runtime.Publish(ctx, bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A", Number: n})
			conformance.Must(t, err)
		}
		idle, cancel := context.WithTimeout(ctx, time.Hour)
		defer cancel()
		if err := bus.WaitIdle(idle); err != nil {
			t.Errorf("the bus does not become idle: %v", err)
		}
		file, err := inspect.Open(ctx, "nats://test/bus", jetstream.Inspect(jetstream.InMemory(), through))
		conformance.Must(t, err)
		defer file.Close()
		dead, _, err := file.DeadLetters(ctx, event.Filter{}, event.Page{Limit: 10})
		conformance.Must(t, err)
		if len(dead) != 1 || dead[0].Reason != "permanent" || len(dead[0].Attempts) != 1 || paid != 2 {
			t.Errorf("there are the dead letters %+v, and %d events that handlers have published; want 1 and 2", dead, paid)
		}
		if notices != 1 {
			t.Errorf("there are %d notices of dead letters, want 1", notices)
		}
	})
}
