package jetstream_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// process opens the bus of a server, as another process would, over a line of its own. What
// it logs goes to said.
func process(t *testing.T, server *servertest.Server, said *bytes.Buffer, opts ...jetstream.Option) (*runtime.Bus, *servertest.Line) {
	t.Helper()
	line := server.Line()
	logger := slog.New(slog.DiscardHandler)
	if said != nil {
		logger = slog.New(slog.NewTextHandler(said, nil))
	}
	bus, err := runtime.Open(t.Context(), "nats://test/bus", conformance.Catalogue, runtime.WithLogger(logger),
		jetstream.Engine(append(opts, jetstream.InMemory(), jetstream.Through(func(string) (*nats.Conn, error) {
			return line.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
		}))...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		bus.Shutdown(ended)
	})
	return bus, line
}

func TestASubscriptionThatAProcessDetachesGoesToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t, t.TempDir())
		var handled [2]conformance.Journal[int]
		var subscriptions [2]*runtime.Subscription
		var buses [2]*runtime.Bus
		for i := range buses {
			buses[i], _ = process(t, server, nil)
			var err error
			subscriptions[i], err = runtime.Subscribe(buses[i], conformance.PlacedType, "orders", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
				handled[i].Add(e.Payload.Number)
				return nil
			})
			conformance.Must(t, err)
			conformance.Must(t, buses[i].Start(t.Context()))
		}
		publish := func(n int) {
			t.Helper()
			_, err := runtime.Publish(t.Context(), buses[0], conformance.PlacedType, conformance.OrderPlaced{Number: n})
			conformance.Must(t, err)
			time.Sleep(time.Second)
		}
		publish(1)
		conformance.Must(t, subscriptions[0].Unsubscribe(t.Context()))
		time.Sleep(3 * time.Second)
		publish(2)
		if first, second := handled[0].All(), handled[1].All(); len(first) != 1 || len(second) != 1 {
			t.Errorf("the first process has handled %v, and the second one %v", first, second)
		}
	})
}

func TestACrashIsReportedWhenAnotherProcessGoesOnInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t, t.TempDir())
		var said bytes.Buffer
		var attempts conformance.Journal[int]
		subscribe := func(bus *runtime.Bus, handler func(context.Context, runtime.Event[conformance.OrderPlaced]) error) {
			_, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", handler)
			conformance.Must(t, err)
			conformance.Must(t, bus.Start(t.Context()))
		}
		dying, line := process(t, server, nil)
		subscribe(dying, func(ctx context.Context, _ runtime.Event[conformance.OrderPlaced]) error {
			<-ctx.Done()
			return ctx.Err()
		})
		other, _ := process(t, server, &said)
		subscribe(other, func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
			attempts.Add(e.Attempt)
			return nil
		})
		_, err := runtime.Publish(t.Context(), other, conformance.PlacedType, conformance.OrderPlaced{Number: 1})
		conformance.Must(t, err)
		time.Sleep(time.Second)
		line.Cut()
		time.Sleep(10 * time.Second)
		if got := attempts.All(); len(got) != 1 || got[0] != 2 {
			t.Errorf("the other process has made the attempts %v, want 2", got)
		}
		synctest.Wait()
		if !strings.Contains(said.String(), "the process ended while the handler was running") {
			t.Errorf("the log does not say that a process has died:\n%s", said.String())
		}
	})
}
