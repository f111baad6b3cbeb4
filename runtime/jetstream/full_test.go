package jetstream_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
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
	"github.com/busgen/busgen/runtime/observe"
)

// What is in a stream that is full can be settled and pruned, and then there is room again.
func TestAFullStreamIsEmptied(t *testing.T) {
	onServer(t, func(c *js.StreamConfig) { c.MaxBytes = 2 << 20 }, func(t *testing.T, s *servertest.Server, _ js.JetStream) {
		through := jetstream.Through(func(string) (*nats.Conn, error) { return s.Connect() })
		bus, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue, jetstream.Engine(through, jetstream.Silent()), runtime.WithRetention(time.Minute))
		conformance.Must(t, err)
		defer bus.Shutdown(context.Background())
		size := 10_000
		publish := func() error {
			_, err := runtime.Publish(context.Background(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: strings.Repeat("A", size)})
			return err
		}
		published := 0
		for ; size > 0; size /= 10 { // until nothing fits
			for err = publish(); err == nil && published < 1000; err = publish() {
				published++
			}
		}
		var storage *event.StorageError
		if !errors.As(err, &storage) || storage.Fault != event.DiskFull {
			t.Fatalf("Publish returns %v, want a StorageError that the disk is full", err)
		}
		_, err = runtime.Subscribe(bus, conformance.PlacedType, "orders", func(context.Context, runtime.Event[conformance.OrderPlaced]) error { return nil }, runtime.FromBeginning())
		conformance.Must(t, err)
		conformance.Must(t, bus.Start(context.Background()))
		conformance.Must(t, bus.WaitIdle(context.Background()))
		time.Sleep(2 * time.Hour) // and they are pruned
		size = 10_000
		for n := range 50 {
			if err := publish(); err != nil {
				t.Fatalf("Publish returns %v after %d more events", err, n)
			}
		}
	})
}

func TestTheHealthAndTheCountsSayThatAStreamIsFull(t *testing.T) {
	onServer(t, func(c *js.StreamConfig) { c.MaxBytes = 2 << 20 }, func(t *testing.T, s *servertest.Server, _ js.JetStream) {
		through := jetstream.Through(func(string) (*nats.Conn, error) { return s.Connect() })
		policy := observe.DefaultHealth()
		policy.Every = time.Second
		bus, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue, jetstream.Engine(through, jetstream.Silent()),
			runtime.WithRetention(time.Minute), runtime.WithHealth(policy, nil), runtime.WithLogger(slog.New(slog.DiscardHandler)))
		conformance.Must(t, err)
		defer bus.Shutdown(context.Background())
		conformance.Must(t, bus.Start(context.Background()))
		unwritable := func() observe.HealthCheck {
			t.Helper()
			time.Sleep(3 * time.Second)
			checks := bus.Health().Checks
			at := slices.IndexFunc(checks, func(c observe.HealthCheck) bool { return c.Name == observe.CheckUnwritable })
			if at < 0 {
				t.Fatalf("the checks are %+v", checks)
			}
			return checks[at]
		}
		publish := func(size int) error {
			_, err := runtime.Publish(context.Background(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: strings.Repeat("A", size)})
			return err
		}
		if c := unwritable(); c.Exceeded {
			t.Errorf("before anything is stored: %+v", c)
		}
		for range 1000 {
			if err = publish(10_000); err != nil {
				break
			}
		}
		began := time.Now()
		for range 4 {
			if publish(10_000) == nil {
				t.Error("a full stream takes an event")
			}
		}
		if c := unwritable(); !c.Exceeded || c.Mostly != "disk full" || c.Since.After(began) {
			t.Errorf("the check of a full stream is %+v", c)
		}
		var metrics strings.Builder
		conformance.Must(t, bus.WriteMetrics(context.Background(), &metrics))
		for _, want := range []string{"busgen_refused_total{reason=\"disk_full\"} 5\n", `busgen_unwritable_seconds{fault="disk full"} `} {
			if !strings.Contains(metrics.String(), want) {
				t.Errorf("the metrics lack %s", want)
			}
		}
		time.Sleep(2 * time.Hour) // what is in the stream is pruned
		conformance.Must(t, publish(10_000))
		if c := unwritable(); c.Exceeded {
			t.Errorf("when there is room again: %+v", c)
		}
	})
}
