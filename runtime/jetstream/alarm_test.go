package jetstream_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// A leader that was deposed, and is cut off from the others, goes on answering questions about the
// stream with what it knows, now and then. It acknowledges nothing: what is stored goes to the leader.
func TestADeposedLeaderThatGoesOnAnsweringStopsNoBus(t *testing.T) {
	const noStream = `{"error": {"code": 404, "err_code": 10059, "description": "stream not found"}}`
	for name, answers := range map[string]func(asked int, before []byte) []byte{
		"with an older number":               func(_ int, before []byte) []byte { return before },
		"with an older number, now and then": func(asked int, before []byte) []byte { return every(6, asked, before) },
		"that it has no such stream, now and then": func(asked int, _ []byte) []byte {
			return every(6, asked, []byte(noStream))
		},
	} {
		t.Run(name, func(t *testing.T) {
			deafBubble(t, func(t *testing.T) {
				server := servertest.Start(t, t.TempDir())
				line, log := server.Line(), &textLog{}
				bus, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.NewTextHandler(log, nil))),
					jetstream.Engine(jetstream.InMemory(), jetstream.Through(func(string) (*nats.Conn, error) {
						return line.Connect(append(jetstream.ClientOptions(), nats.PingInterval(time.Hour))...)
					})))
				conformance.Must(t, err)
				defer bus.Shutdown(context.Background())
				var handled atomic.Int64
				_, err = runtime.Subscribe(bus, conformance.PlacedType, "orders", func(context.Context, runtime.Event[conformance.OrderPlaced]) error {
					handled.Add(1)
					return nil
				})
				conformance.Must(t, err)
				conformance.Must(t, bus.Start(context.Background()))
				published := 0
				publish := func(n int) {
					for range n {
						_, err := runtime.Publish(context.Background(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A"})
						conformance.Must(t, err)
						published++
					}
				}
				publish(10)
				nc, err := server.Connect()
				conformance.Must(t, err)
				defer nc.Close()
				before, err := nc.Request("$JS.API.STREAM.INFO.bus", nil, time.Second)
				conformance.Must(t, err)
				publish(10)
				time.Sleep(time.Second)

				asked := 0
				_, err = nc.Subscribe("$JS.OLD.STREAM.INFO.bus", func(m *nats.Msg) {
					if answer := answers(asked, before.Data); answer != nil {
						m.Respond(answer)
					}
					asked++
				})
				conformance.Must(t, err)
				line.Divert("$JS.API.STREAM.INFO.bus", "$JS.OLD.STREAM.INFO.bus")
				for range 6 {
					line.Drop() // its readers begin again, and it looks at the stream
					time.Sleep(30 * time.Second)
					publish(1)
				}
				line.Undivert()
				time.Sleep(time.Minute)
				publish(1)
				time.Sleep(time.Second)
				if n := handled.Load(); n != int64(published) || asked < 10 || log.count("has stopped") > 0 {
					t.Errorf("%d of %d events are handled, and the other server has answered %d times:\n%s", n, published, asked, log.text.String())
				}
			})
		})
	}
}

// every returns an answer once in so many times.
func every(times, asked int, answer []byte) []byte {
	if asked%times == 0 {
		return answer
	}
	return nil
}
