package jetstream_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/retry"
)

// crowd is a bus whose servers accept fewer messages at once than handlers run in one of its
// processes.
type crowd struct {
	t      *testing.T
	server *servertest.Server

	mu      sync.Mutex
	release chan struct{} // nil for handlers that return at once
	blocked int           // handlers that have not returned
	handled map[int]int
	batches []int // sizes
}

func newCrowd(t *testing.T) *crowd {
	return &crowd{t: t, handled: map[int]int{}, server: servertest.StartWith(t, &natsserver.Options{
		JetStream: true, StoreDir: t.TempDir(), NoSystemAccount: true, JetStreamLimits: natsserver.JSLimitOpts{MaxBatchSize: 40},
	}, nil)}
}

func (x *crowd) options(line *servertest.Line) []jetstream.Option {
	return []jetstream.Option{jetstream.InMemory(), jetstream.Hasty(), jetstream.Through(func(string) (*nats.Conn, error) {
		return line.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(time.Hour))
	})}
}

// open returns a process that does not handle yet. It is cut off when it has seen so many
// messages of the stream; 0 for never.
func (x *crowd) open(messages int) (*runtime.Bus, *servertest.Line) {
	line := x.server.Line()
	lag := jetstream.Lagging(func() {
		if messages--; messages == 0 {
			line.Cut()
		}
	})
	bus, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)), jetstream.Engine(append(x.options(line), lag)...))
	conformance.Must(x.t, err)
	return bus, line
}

// handle subscribes to orders, in batches or many at once.
func (x *crowd) handle(bus *runtime.Bus, batches bool, opts ...runtime.SubscribeOption) {
	release := x.release
	handler := func(_ context.Context, events []runtime.Event[conformance.OrderPlaced]) error {
		x.mu.Lock()
		if release != nil {
			x.blocked += len(events)
			x.mu.Unlock()
			<-release
			return nil
		}
		defer x.mu.Unlock()
		x.batches = append(x.batches, len(events))
		for _, e := range events {
			x.handled[e.Payload.Number]++
		}
		return nil
	}
	opts = append(opts, runtime.FromBeginning())
	var err error
	if batches {
		_, err = runtime.SubscribeBatch(bus, conformance.PlacedType, "orders", handler, append(opts, runtime.WithBatch(100, 0))...)
	} else {
		_, err = runtime.Subscribe(bus, conformance.PlacedType, "orders", func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
			return handler(ctx, []runtime.Event[conformance.OrderPlaced]{e})
		}, append(opts, runtime.WithConcurrency(100))...)
	}
	conformance.Must(x.t, err)
}

// A takeover after a crash stores a row for each handler that ran. Who dies while it does so
// leaves a takeover that others go on with.
func TestACrashWithMoreHandlersThanABatchHasMessagesIsTakenOver(t *testing.T) {
	short.Skip(t, "hundreds of handlers run at once")
	for _, batches := range []bool{true, false} {
		partly := 0
		for _, messages := range []int{0, 1, 5, 20, 32, 34, 50, 65, 67, 90, 100, 120} { // of the stream, until the second process dies, too
			t.Run(fmt.Sprint("batches ", batches, " messages ", messages), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					if crowdDies(t, batches, messages) {
						partly++
					}
				})
			})
		}
		if partly == 0 {
			t.Error("no process has died in the middle of a takeover")
		}
	}
}

func crowdDies(t *testing.T, batches bool, messages int) (partly bool) {
	ctx := context.Background()
	x := newCrowd(t)
	x.release = make(chan struct{})
	first, line := x.open(0)
	for n := range 100 {
		_, err := runtime.Publish(ctx, first, conformance.PlacedType, conformance.OrderPlaced{OrderID: fmt.Sprint(n), Number: n})
		conformance.Must(t, err)
	}
	x.handle(first, batches)
	conformance.Must(t, first.Start(ctx))
	time.Sleep(10 * time.Second)
	synctest.Wait()
	if x.blocked != 100 {
		t.Fatalf("%d handlers run, want 100", x.blocked)
	}
	line.Cut()

	started := []*runtime.Bus{first}
	release := x.release
	if x.release = nil; messages > 0 {
		second, line := x.open(messages)
		x.release = release
		x.handle(second, batches)
		x.release = nil
		begins, cancel := context.WithTimeout(ctx, 10*time.Second)
		second.Start(begins)
		cancel()
		line.Cut()
		started = append(started, second)
		partly = x.takenPartly()
	}
	third, _ := x.open(0)
	var opts []runtime.SubscribeOption
	if x.blocked == 100 { // no crash counts, because all of them ran beside each other
		opts = append(opts, runtime.WithRetry(retry.MaxAttempts(1)))
	}
	x.handle(third, batches, opts...)
	conformance.Must(t, third.Start(ctx))
	idle, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if err := third.WaitIdle(idle); err != nil {
		t.Errorf("the bus does not become idle: %v", err)
	}
	for n := range 100 {
		if x.handled[n] != 1 {
			t.Errorf("event %d is handled %d times, want once", n, x.handled[n])
		}
	}
	if batches && x.batches[0] > 50 {
		t.Errorf("the first batch after the crash has %d events, want half of those that ran", x.batches[0])
	}
	close(release)
	for _, bus := range started {
		bus.Shutdown(ctx)
	}
	conformance.Must(t, third.Shutdown(ctx))
	return partly
}

// takenPartly reports whether there is a takeover that somebody has to go on with.
func (x *crowd) takenPartly() bool {
	nc, err := x.server.Connect()
	conformance.Must(x.t, err)
	defer nc.Close()
	client, _ := js.New(nc)
	stream, err := client.Stream(context.Background(), "bus")
	conformance.Must(x.t, err)
	info, err := stream.Info(context.Background(), js.WithSubjectFilter("bus.c.>"))
	conformance.Must(x.t, err)
	for subject := range info.State.Subjects {
		m, err := stream.GetLastMsgForSubject(context.Background(), subject)
		conformance.Must(x.t, err)
		if strings.Contains(string(m.Data), `"fallen":true`) {
			return true
		}
	}
	return false
}
