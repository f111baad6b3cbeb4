package jetstream_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/retry"
)

// The claim of a suspect is stored before its handler is called, and the answer of the server
// can take its time. Whenever a process is killed that waits for an answer, it has either called
// the handler, or the crash counts for nobody.
func TestWheneverAProcessIsKilledItCountsForNoSuspectThatWasNotCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t, t.TempDir())
		options := func(line *servertest.Line) []jetstream.Option {
			return []jetstream.Option{jetstream.InMemory(), jetstream.Hasty(), jetstream.Through(func(string) (*nats.Conn, error) {
				return line.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(time.Hour))
			})}
		}
		var mu sync.Mutex
		called := map[int]int{}
		// live lets a process live that hears nothing any more after so many writes; 0 for one that
		// hears everything.
		live := func(writes int) {
			line := server.Line()
			bus, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue,
				runtime.WithLogger(slog.New(slog.DiscardHandler)), jetstream.Engine(options(line)...))
			conformance.Must(t, err)
			_, err = runtime.Subscribe(bus, conformance.PlacedType, "orders", func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
				mu.Lock()
				called[e.Payload.Number]++
				mu.Unlock()
				<-ctx.Done()
				return ctx.Err()
			}, runtime.FromBeginning(), runtime.WithConcurrency(2), runtime.WithoutTimeout(), runtime.WithRetry(retry.MaxAttempts(1000)))
			conformance.Must(t, err)
			if writes > 0 {
				line.DeafenAfter(writes)
			} else {
				_, err = runtime.PublishBatch(context.Background(), bus, conformance.PlacedType, []conformance.OrderPlaced{{Number: 0}, {Number: 1}})
				conformance.Must(t, err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			bus.Start(ctx)
			time.Sleep(time.Second)
			line.Cut()
			ended, end := context.WithCancel(context.Background())
			end()
			bus.Shutdown(ended)
			time.Sleep(time.Minute)
		}
		live(0)
		for writes := 1; writes < 100; writes++ {
			live(writes)
		}
		line := server.Line()
		bus, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue, jetstream.Engine(options(line)...), runtime.WithLogger(slog.New(slog.DiscardHandler)))
		conformance.Must(t, err)
		defer bus.Shutdown(context.Background())
		conformance.Must(t, bus.Start(context.Background())) // which finds out what ran
		inspector, err := inspect.Open(context.Background(), "nats://test/bus", jetstream.Inspect(options(server.Line())...))
		conformance.Must(t, err)
		defer inspector.Close()
		events, _, err := inspector.Events(context.Background(), event.Filter{}, event.Page{})
		conformance.Must(t, err)
		for _, e := range events {
			var order conformance.OrderPlaced
			conformance.Must(t, json.Unmarshal(e.Payload, &order))
			whole, err := inspector.Event(context.Background(), e.ID)
			conformance.Must(t, err)
			crashes := 0
			for _, d := range whole.Deliveries {
				for _, a := range d.Attempts {
					if a.Kind == "crash" {
						crashes++
					}
				}
			}
			if n := called[order.Number]; n < 3 || crashes > n {
				t.Errorf("event %d has %d crashes on record, and its handler was called %d times", order.Number, crashes, n)
			}
		}
	})
}
