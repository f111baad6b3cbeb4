//go:build unix

package jetstream_test

import (
	"context"
	"testing"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// A new stream is kept by three servers, or by all, if they are fewer; also while one of them is away. One that
// exists is left as it is.
func TestANewStreamHasThreeReplicasOrAsManyAsThereAreServers(t *testing.T) {
	short.Skip(t, "servers find each other")
	for _, c := range []struct {
		servers, away int
		opts          []jetstream.Option
		want          int
	}{
		{servers: 2, want: 2}, {servers: 3, want: 3}, {servers: 3, away: 1, want: 3}, {servers: 4, want: 3},
		{servers: 3, opts: []jetstream.Option{jetstream.Replicas(1)}, want: 1},
	} {
		nodes := servertest.StartNodes(t, c.servers)
		for i := range c.away {
			nodes.Kill(i)
		}
		open := func(name string, opts ...jetstream.Option) int {
			bus, err := runtime.Open(t.Context(), "nats://"+nodes.Hosts()+"/"+name, conformance.Catalogue, jetstream.Engine(append(opts, jetstream.Silent())...))
			conformance.Must(t, err)
			conformance.Must(t, bus.Shutdown(context.Background()))
			nc, err := nodes.Connect()
			conformance.Must(t, err)
			defer nc.Close()
			client, _ := js.New(nc)
			stream, err := client.Stream(t.Context(), name)
			conformance.Must(t, err)
			return stream.CachedInfo().Config.Replicas
		}
		if got := open("bus", c.opts...); got != c.want {
			t.Errorf("of %d servers, of which %d are away, %d keep the stream, want %d", c.servers, c.away, got, c.want)
		}
		if got := open("bus"); got != c.want {
			t.Errorf("opened again, the stream has %d replicas, and had %d", got, c.want)
		}
		for i := range c.servers {
			nodes.Kill(i)
		}
	}
}
