package jetstream_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// The replica from which a process reads is behind for good: nothing arrives any more, and its server seems to be well.
// Another replica has everything, or another process does what has to be done.
func TestBesideAStaleReplicaEverythingIsHandledWithinFifteenSeconds(t *testing.T) {
	for _, helps := range []bool{true, false} { // to connect to another server
		for name, begin := range map[string]time.Duration{"as it starts": 0, "while it handles": 10 * time.Second, "while it has nothing to do": 5 * time.Minute} {
			if !helps && begin == 0 {
				continue // it does not start then
			}
			for _, concurrency := range []int{1, 4} {
				t.Run(fmt.Sprint(name, ", another server helps: ", helps, ", concurrency ", concurrency), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { besideStale(t, helps, begin, concurrency) })
				})
			}
		}
	}
}

func besideStale(t *testing.T, helps bool, begin time.Duration, concurrency int) {
	server := servertest.Start(t, t.TempDir())
	ctx := context.Background()
	var mu sync.Mutex
	handled, stale, moved := map[int]string{}, false, 0
	open := func(name string, opts ...jetstream.Option) *runtime.Bus {
		line := server.Line()
		through := jetstream.Through(func(string) (*nats.Conn, error) {
			return line.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.ReconnectHandler(func(*nats.Conn) {
				mu.Lock()
				defer mu.Unlock()
				moved++
				stale = stale && !helps
			}))
		})
		bus, err := runtime.Open(ctx, "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)),
			jetstream.Engine(append(opts, jetstream.InMemory(), jetstream.Replicated(), through)...))
		conformance.Must(t, err)
		if name == "" {
			return bus
		}
		_, err = runtime.Subscribe(bus, conformance.PlacedType, "orders", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
			mu.Lock()
			defer mu.Unlock()
			handled[e.Payload.Number] = name
			return nil
		}, runtime.FromBeginning(), runtime.WithConcurrency(concurrency))
		conformance.Must(t, err)
		return bus
	}
	lag := jetstream.Lagging(func() {
		for range 100_000 { // or until the test ends
			mu.Lock()
			behind := stale
			mu.Unlock()
			if !behind {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	publisher, published := open(""), 0
	publish := func() {
		for range 20 {
			_, err := runtime.Publish(ctx, publisher, conformance.PlacedType, conformance.OrderPlaced{OrderID: fmt.Sprint("key ", published), Number: published})
			conformance.Must(t, err)
			published++
		}
	}
	publish()
	first := open("first", lag)
	setStale := func(now bool) {
		mu.Lock()
		defer mu.Unlock()
		stale = now
	}
	setStale(begin == 0)
	conformance.Must(t, first.Start(ctx))
	second := open("second")
	if !helps {
		conformance.Must(t, second.Start(ctx))
	}
	time.Sleep(begin)
	setStale(begin > 0)
	for range 5 {
		publish()
		time.Sleep(time.Second)
	}
	time.Sleep(15 * time.Second)
	mu.Lock()
	if len(handled) != published || moved == 0 {
		t.Errorf("%d of %d events are handled, and it has connected to another server %d times", len(handled), published, moved)
	}
	mu.Unlock()
	setStale(false)
	time.Sleep(time.Minute)
	conformance.Must(t, second.Shutdown(ctx))
	publish()
	time.Sleep(time.Minute)
	mu.Lock()
	if len(handled) != published || handled[published-1] != "first" {
		t.Errorf("the first process does not go on: %d of %d events are handled", len(handled), published)
	}
	mu.Unlock()
	conformance.Must(t, first.Shutdown(ctx))
	conformance.Must(t, publisher.Shutdown(ctx))
}
