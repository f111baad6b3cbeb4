//go:build unix

package jetstream_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// A server that is cut off from the others goes on to answer its clients: it knows of no leader. A bus that handles, and
// one that only publishes, go on at another server.
func TestABusLeavesAServerThatIsCutOffFromTheOthers(t *testing.T) {
	short.Skip(t, "the servers elect leaders in real time")
	for name, cut := range map[string]func(*servertest.Proxy){"hangs": (*servertest.Proxy).Cut, "refused": (*servertest.Proxy).Refuse} {
		t.Run(name, func(t *testing.T) {
			nodes, network := servertest.StartNodesApart(t, 3)
			ctx := context.Background()
			open := func() *runtime.Bus {
				through := jetstream.Through(func(string) (*nats.Conn, error) { // the first server
					return nats.Connect(network.Hosts(), append(jetstream.ClientOptions(), nats.DontRandomize())...)
				})
				bus, err := runtime.Open(ctx, "nats://test/bus", conformance.Catalogue, jetstream.Engine(jetstream.Replicas(3), jetstream.Silent(), through))
				conformance.Must(t, err)
				t.Cleanup(func() { bus.Shutdown(context.Background()) })
				return bus
			}
			publisher, worker := open(), open()
			handled := make(chan int, 100)
			_, err := runtime.Subscribe(worker, conformance.PlacedType, "orders", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
				handled <- e.Payload.Number
				return nil
			}, runtime.FromBeginning(), runtime.WithConcurrency(4))
			conformance.Must(t, err)
			conformance.Must(t, worker.Start(ctx))
			publish := func(n int) { // a leader that is cut off takes itself for one for longer than Publish waits
				began := time.Now()
				for {
					_, err := runtime.Publish(ctx, publisher, conformance.PlacedType, conformance.OrderPlaced{OrderID: fmt.Sprint(n), Number: n})
					if err == nil {
						return
					}
					if t.Log(err); time.Since(began) > time.Minute {
						t.Fatal("nothing can be published")
					}
				}
			}
			publish(0)
			<-handled
			nodes.WaitCurrent("bus", time.Minute)
			for _, p := range network.Servers(0) {
				cut(p)
			}
			began := time.Now()
			publish(1)
			published := time.Since(began)
			select {
			case <-handled:
			case <-time.After(time.Minute):
				t.Error("nothing is handled")
			}
			t.Log("published after", published, "handled after", time.Since(began))
			for _, p := range network.Servers(0) {
				p.Heal()
			}
		})
	}
}
