package jetstream_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// A handler has published an event with a key, and succeeded. Whether another event has the
// key by now is asked before that is stored, and nobody answers.
func TestWhatAHandlerHasPublishedWithAKeyIsStoredAlthoughServersWereSilent(t *testing.T) {
	onLine(t, func(t *testing.T, bus *runtime.Bus, line *servertest.Line, stored func() int) {
		ctx := context.Background()
		_, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
			_, err := runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{OrderID: "A"}, runtime.WithDedupeKey("A"))
			line.Freeze()
			time.AfterFunc(7*time.Second, line.Thaw)
			return err
		})
		conformance.Must(t, err)
		conformance.Must(t, bus.Start(ctx))
		conformance.Must(t, publications["one"].publish(ctx, bus))
		time.Sleep(time.Minute)
		if got := stored(); got != 2 {
			t.Errorf("%d events are stored, want 2: the order, and what its handler has published", got)
		}
	})
}

func TestAProcessThatHasLostASubscriptionTakesItAgain(t *testing.T) {
	onLine(t, func(t *testing.T, bus *runtime.Bus, line *servertest.Line, _ func() int) {
		ctx := context.Background()
		first, second := 0, 0
		subscribe := func(bus *runtime.Bus, handled *int) {
			_, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", func(context.Context, runtime.Event[conformance.OrderPlaced]) error {
				*handled++
				return nil
			})
			conformance.Must(t, err)
			conformance.Must(t, bus.Start(ctx))
		}
		subscribe(bus, &first)
		time.Sleep(time.Second)
		healthy := line.Other()
		other, err := runtime.Open(ctx, "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)),
			jetstream.Engine(jetstream.InMemory(), jetstream.Through(func(string) (*nats.Conn, error) {
				return healthy.Connect(append(jetstream.ClientOptions(), nats.PingInterval(time.Hour))...)
			})))
		conformance.Must(t, err)
		subscribe(other, &second)
		time.Sleep(20 * time.Second)
		line.Freeze() // the first process has nothing to store, and hears of nothing before it hears of the second one
		time.Sleep(20 * time.Second)
		line.Thaw()
		time.Sleep(20 * time.Second)
		conformance.Must(t, publications["one"].publish(ctx, other))
		time.Sleep(time.Second)
		synctest.Wait()
		if second != 1 {
			t.Fatalf("the second process has handled %d events, want 1", second)
		}
		conformance.Must(t, other.Shutdown(ctx))
		time.Sleep(20 * time.Second)
		conformance.Must(t, publications["one"].publish(ctx, bus))
		time.Sleep(time.Minute)
		synctest.Wait()
		if first != 1 {
			t.Errorf("the first process has handled %d events after the second one ended, want 1", first)
		}
	})
}
