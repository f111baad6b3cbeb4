package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
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

// textLog is what a bus logs.
type textLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *textLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *textLog) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// A stream that is not the one that was opened any more, or that has lost what was
// acknowledged, breaks the log: every call says so, and what to do.
func TestALogThatIsReplacedIsNoticed(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, s *servertest.Server, line *servertest.Line, dir string){
		"deleted, and opened elsewhere": func(t *testing.T, s *servertest.Server, _ *servertest.Line, _ string) {
			client := clientOf(t, s)
			conformance.Must(t, client.DeleteStream(context.Background(), "bus"))
			other, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue, jetstream.Engine(jetstream.Silent(), jetstream.Through(func(string) (*nats.Conn, error) { return s.Connect() })))
			conformance.Must(t, err)
			conformance.Must(t, other.Shutdown(context.Background()))
		},
		"deleted": func(t *testing.T, s *servertest.Server, _ *servertest.Line, _ string) {
			conformance.Must(t, clientOf(t, s).DeleteStream(context.Background(), "bus"))
		},
		"an older copy": func(t *testing.T, s *servertest.Server, line *servertest.Line, older string) {
			s.Shutdown()
			s.WaitForShutdown()
			line.To(servertest.Start(t, older))
		},
	} {
		for _, starts := range []bool{true, false} { // or it only publishes
			if !starts {
				name += ", to a program that only publishes"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					dir, older := t.TempDir(), t.TempDir()
					s := servertest.Start(t, dir)
					line, log := s.Line(), &textLog{}
					through := jetstream.Through(func(string) (*nats.Conn, error) {
						return line.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
					})
					bus, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.NewTextHandler(log, nil))),
						jetstream.Engine(through, jetstream.Silent()))
					conformance.Must(t, err)
					defer bus.Shutdown(context.Background())
					_, err = runtime.Subscribe(bus, conformance.PlacedType, "orders", func(context.Context, runtime.Event[conformance.OrderPlaced]) error { return nil })
					conformance.Must(t, err)
					if starts {
						conformance.Must(t, bus.Start(context.Background()))
					}
					publish := func() error {
						_, err := runtime.Publish(context.Background(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A"})
						return err
					}
					conformance.Must(t, publish())
					time.Sleep(time.Minute) // the server writes to the disk
					conformance.Must(t, os.CopyFS(older, os.DirFS(dir)))
					for range 100 {
						conformance.Must(t, publish())
					}
					time.Sleep(time.Minute)
					replace(t, s, line, older)
					publish() // it may be stored, in the other stream
					time.Sleep(time.Minute)
					var storage *event.StorageError
					for range 3 {
						if err := publish(); !errors.As(err, &storage) || storage.Fault != event.Replaced || !strings.Contains(storage.Hint, "start the program again") {
							t.Errorf("Publish returns %v, want a StorageError that says that the stream was replaced", err)
						}
					}
					if n := log.count("the bus has stopped"); n != 1 {
						t.Errorf("it logs %d times that the bus has stopped, want once:\n%s", n, log.text.String())
					}
				})
			})
		}
	}
}

// The servers were restored from a copy in which a process handles a subscription. It has noticed
// that, and stopped, but its program runs on.
func TestAnotherProcessTakesOverWhenTheLogOfTheOwnerIsBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSharing(t)
		dir, older := t.TempDir(), t.TempDir()
		x.server = servertest.Start(t, dir)
		x.opts = []jetstream.Option{jetstream.Silent()}
		p := x.start(1)
		publish, end := x.publisher()
		time.Sleep(time.Minute) // the server writes to the disk
		conformance.Must(t, os.CopyFS(older, os.DirFS(dir)))
		for range 100 {
			publish("key")
		}
		time.Sleep(time.Minute)
		end()
		x.server.Shutdown()
		x.server.WaitForShutdown()
		restored := servertest.Start(t, older)
		p.line.To(restored)
		x.server = restored
		time.Sleep(time.Minute)
		if _, err := runtime.Publish(context.Background(), p.bus, conformance.PaidType, conformance.OrderPaid{}); err == nil {
			t.Error("the first process has not noticed")
		}
		x.mu.Lock()
		x.keys, x.handled = map[string]*keyHistory{}, 0
		x.mu.Unlock()
		next := x.start(1)
		publish, end = x.publisher()
		for range 10 {
			publish("new")
		}
		x.wait(time.Minute)
		next.shutdown()
		end()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		p.bus.Shutdown(ctx)
	})
}

func clientOf(t *testing.T, s *servertest.Server) js.JetStream {
	t.Helper()
	nc, err := s.Connect()
	conformance.Must(t, err)
	t.Cleanup(nc.Close)
	client, _ := js.New(nc)
	return client
}

// A program that is newer changes what this one would change back.
func TestAProgramThatIsTooOldWritesNothingMore(t *testing.T) {
	onLine(t, func(t *testing.T, bus *runtime.Bus, line *servertest.Line, stored func() int) {
		nc, err := line.Connect()
		conformance.Must(t, err)
		defer nc.Close()
		client, _ := js.New(nc)
		m := nats.NewMsg("bus.n")
		m.Header.Set("Nats-Rollup", "sub")
		m.Data = []byte(`{"format": 99}`)
		_, err = client.PublishMsg(context.Background(), m)
		conformance.Must(t, err)
		time.Sleep(time.Second)
		var storage *event.StorageError
		if err := publications["one"].publish(context.Background(), bus); !errors.As(err, &storage) || storage.Fault != event.TooNew {
			t.Errorf("Publish returns %v, want a StorageError that says that the program is too old", err)
		}
		if n := stored(); n != 0 {
			t.Errorf("%d events are stored", n)
		}
	})
}
