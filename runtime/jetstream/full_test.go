package jetstream_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
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
		var storage *runtime.StorageError
		if !errors.As(err, &storage) || storage.Fault != runtime.DiskFull {
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
