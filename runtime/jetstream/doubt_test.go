package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	gc "runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// patience is for how long Publish waits for servers.
const patience = 15 * time.Second

// onLine runs a test with a bus that reaches its server over a line. stored returns how many
// events the server has.
func onLine(t *testing.T, test func(t *testing.T, bus *runtime.Bus, line *servertest.Line, stored func() int)) {
	// The client of NATS keeps timers in a pool, for when it connects again. Those of another
	// bubble must not be in there.
	gc.GC()
	gc.GC()
	synctest.Test(t, func(t *testing.T) {
		s := servertest.Start(t, t.TempDir())
		line := s.Line()
		through := jetstream.Through(func(string) (*nats.Conn, error) {
			// A client that notices that the server is silent holds a lock while it connects
			// again, and virtual time stands still.
			return line.Connect(append(jetstream.ClientOptions(), nats.PingInterval(time.Hour))...)
		})
		bus, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)), jetstream.Engine(through, jetstream.InMemory()))
		conformance.Must(t, err)
		defer bus.Shutdown(context.Background())
		// The types are known from now on.
		_, err = runtime.Publish(context.Background(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "first"})
		conformance.Must(t, err)
		nc, err := s.Connect()
		conformance.Must(t, err)
		defer nc.Close()
		client, _ := js.New(nc)
		test(t, bus, line, func() int {
			synctest.Wait()
			stream, err := client.Stream(context.Background(), "bus")
			conformance.Must(t, err)
			info, err := stream.Info(context.Background(), js.WithSubjectFilter("bus.e.>"))
			conformance.Must(t, err)
			events := 0
			for _, n := range info.State.Subjects {
				events += int(n)
			}
			return events - 1
		})
	})
}

// publications are ways to publish n events.
var publications = map[string]struct {
	n       int
	publish func(ctx context.Context, bus *runtime.Bus) error
}{
	"one": {1, func(ctx context.Context, bus *runtime.Bus) error {
		_, err := runtime.Publish(ctx, bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A"})
		return err
	}},
	"with a key": {1, func(ctx context.Context, bus *runtime.Bus) error {
		_, err := runtime.Publish(ctx, bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A"}, runtime.WithDedupeKey("A"))
		return err
	}},
	"a batch": {3, func(ctx context.Context, bus *runtime.Bus) error {
		var all []conformance.OrderPlaced
		for i := range 3 {
			all = append(all, conformance.OrderPlaced{OrderID: fmt.Sprint(i)})
		}
		_, err := runtime.PublishBatch(ctx, bus, conformance.PlacedType, all)
		return err
	}},
}

func TestAPublicationWhoseAcknowledgementIsLostIsStoredOnce(t *testing.T) {
	for name, p := range publications {
		t.Run(name, func(t *testing.T) {
			onLine(t, func(t *testing.T, bus *runtime.Bus, line *servertest.Line, stored func() int) {
				line.Deafen()
				time.AfterFunc(time.Second, line.Drop)
				conformance.Must(t, p.publish(context.Background(), bus))
				if got := stored(); got != p.n {
					t.Errorf("%d events are stored, want %d", got, p.n)
				}
			})
		})
	}
}

func TestAPublicationThatHangsInTheNetworkIsStoredOnce(t *testing.T) {
	for name, p := range publications {
		t.Run(name, func(t *testing.T) {
			onLine(t, func(t *testing.T, bus *runtime.Bus, line *servertest.Line, stored func() int) {
				line.Freeze() // and then everything arrives that was sent meanwhile
				time.AfterFunc(3*time.Second, line.Thaw)
				conformance.Must(t, p.publish(context.Background(), bus))
				time.Sleep(time.Second)
				if got := stored(); got != p.n {
					t.Errorf("%d events are stored, want %d", got, p.n)
				}
			})
		})
	}
}

func TestAPublicationIsInDoubtIfNoServerAnswers(t *testing.T) {
	onLine(t, func(t *testing.T, bus *runtime.Bus, line *servertest.Line, stored func() int) {
		began := time.Now()
		line.Deafen()
		defer line.Drop()
		err := publications["one"].publish(context.Background(), bus)
		var storage *event.StorageError
		if !errors.As(err, &storage) || storage.Fault != event.Unreachable || !storage.InDoubt {
			t.Errorf("Publish returns %v, want a StorageError in doubt", err)
		}
		if took := time.Since(began).Round(time.Second); took != patience {
			t.Errorf("Publish gives up after %v, want %v", took, patience)
		}
		if got := stored(); got != 1 {
			t.Errorf("%d events are stored, want 1: the server has got it", got)
		}
	})
}

func TestNothingIsStoredOfAPublicationThatFoundNoServer(t *testing.T) {
	for name, p := range publications {
		t.Run(name, func(t *testing.T) {
			onLine(t, func(t *testing.T, bus *runtime.Bus, line *servertest.Line, stored func() int) {
				line.Cut()
				time.Sleep(time.Second)
				err := p.publish(context.Background(), bus)
				var storage *event.StorageError
				if !errors.As(err, &storage) || storage.Fault != event.Unreachable || storage.InDoubt {
					t.Errorf("Publish returns %v, want a StorageError that is not in doubt", err)
				}
				line.Restore()
				time.Sleep(time.Minute)
				if got := stored(); got != 0 {
					t.Errorf("%d events are stored, want none", got)
				}
				conformance.Must(t, p.publish(context.Background(), bus))
			})
		})
	}
}

// The context of who publishes ends nothing that a server may have got.
func TestAContextThatEndsDoesNotPutAPublicationInDoubt(t *testing.T) {
	onLine(t, func(t *testing.T, bus *runtime.Bus, line *servertest.Line, stored func() int) {
		line.Deafen()
		time.AfterFunc(3*time.Second, line.Drop)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		conformance.Must(t, publications["one"].publish(ctx, bus))
		if got := stored(); got != 1 {
			t.Errorf("%d events are stored, want 1", got)
		}
	})
}
