package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
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

// Somebody has published under the subjects of records. The bus opens, and says what to delete.
// The records are still there, and so are the positions that they have.
func TestTheBusOpensWhenAMessageHidesARecord(t *testing.T) {
	for name, hide := range map[string]struct {
		subject, data string
		blocks        bool // the subscription
	}{
		"no row":            {"bus.d.what", "is this?", false},
		"an empty row":      {"bus.d.what.7", "{}", false},
		"no subscription":   {"bus.c.what", "is this?", false},
		"a cursor":          {"bus.c.ORDERS", "is this?", true},
		"an empty cursor":   {"bus.c.ORDERS", "{}", true},
		"the registry":      {"bus.n", "is this?", false},
		"an empty registry": {"bus.n", "{}", false},
	} {
		t.Run(name, func(t *testing.T) {
			onLine(t, func(t *testing.T, bus *runtime.Bus, line *servertest.Line, _ func() int) {
				ctx := context.Background()
				handled := 0
				subscribe := func(bus *runtime.Bus) {
					_, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", func(context.Context, runtime.Event[conformance.OrderPlaced]) error {
						handled++
						return nil
					}, runtime.FromBeginning())
					conformance.Must(t, err)
				}
				idle := func(bus *runtime.Bus) error {
					ctx, cancel := context.WithTimeout(ctx, time.Minute)
					defer cancel()
					return bus.WaitIdle(ctx)
				}
				subscribe(bus)
				conformance.Must(t, bus.Start(ctx))
				conformance.Must(t, idle(bus))
				conformance.Must(t, bus.Shutdown(ctx))

				nc, err := line.Connect()
				conformance.Must(t, err)
				defer nc.Close()
				client, _ := js.New(nc)
				stream, err := client.Stream(ctx, "bus")
				conformance.Must(t, err)
				info, err := stream.Info(ctx, js.WithSubjectFilter("bus.c.>"))
				conformance.Must(t, err)
				for subject := range info.State.Subjects {
					hide.subject = strings.Replace(hide.subject, "bus.c.ORDERS", subject, 1)
				}
				ack, err := client.Publish(ctx, hide.subject, []byte(hide.data))
				conformance.Must(t, err)

				var log textLog
				late, err := runtime.Open(ctx, "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
					jetstream.Engine(jetstream.InMemory(), jetstream.Through(func(string) (*nats.Conn, error) { return line.Connect() })))
				conformance.Must(t, err)
				defer late.Shutdown(ctx)
				subscribe(late)
				conformance.Must(t, late.Start(ctx))
				conformance.Must(t, publications["one"].publish(ctx, late))
				if err := idle(late); (err != nil) != hide.blocks {
					t.Errorf("WaitIdle returns %v", err)
				}
				if command := fmt.Sprintf("nats stream rmm bus %d", ack.Sequence); log.count(command) == 0 || log.count(hide.subject) == 0 {
					t.Errorf("nobody says %q and %q:\n%s", command, hide.subject, log.text.String())
				}
				conformance.Must(t, stream.DeleteMsg(ctx, ack.Sequence))
				conformance.Must(t, idle(late))
				if handled != 2 {
					t.Errorf("%d events are handled, want each of 2 once", handled)
				}
			})
		})
	}
}

// A name that nobody has used needs the record that is hidden.
func TestAHiddenRegistryIsAnErrorThatSaysWhatToDo(t *testing.T) {
	onLine(t, func(t *testing.T, bus *runtime.Bus, line *servertest.Line, _ func() int) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		nc, err := line.Connect()
		conformance.Must(t, err)
		defer nc.Close()
		_, err = nc.Request("bus.n", []byte("is this?"), time.Second)
		conformance.Must(t, err)
		_, err = runtime.Subscribe(bus, conformance.PlacedType, "orders", func(context.Context, runtime.Event[conformance.OrderPlaced]) error { return nil })
		if err == nil {
			err = bus.Start(ctx)
		}
		var storage *event.StorageError
		if !errors.As(err, &storage) || storage.Fault != event.Foreign || !strings.Contains(err.Error(), "nats stream rmm bus ") {
			t.Errorf("the error is %v, want one that says what to delete", err)
		}
	})
}
