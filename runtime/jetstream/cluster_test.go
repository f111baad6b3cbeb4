package jetstream_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

var clusterEvents = flag.Int("cluster.events", 400, "how many events are published to the cluster")

// Three servers keep the stream. Each is shut down once while orders are published and
// handled by two processes, the leader of the stream among them.
func TestAClusterLosesNothingWhenItsServersRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	cluster := servertest.StartCluster(t, 3)
	target := "nats://" + cluster.Hosts() + "/bus"
	x := &torture{t: t, random: rand.New(rand.NewPCG(1, 0)), acked: map[int]int{}, succeeded: map[int]int{}}
	x.dial = func() (*nats.Conn, error) { return nats.Connect(cluster.Hosts()) }
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	open := func() *worker {
		bus, err := runtime.Open(t.Context(), target, conformance.Catalogue, runtime.WithLogger(log), jetstream.Engine(jetstream.Replicas(3)))
		conformance.Must(t, err)
		return &worker{bus: bus}
	}
	publisher, workers := open(), []*worker{open(), open()}
	x.spare = true
	for _, w := range workers {
		x.start(w)
	}
	done := make(chan time.Duration)
	go func() {
		var longest time.Duration
		for n := range *clusterEvents {
			began := time.Now()
			_, err := runtime.Publish(context.Background(), publisher.bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A", Number: n})
			longest = max(longest, time.Since(began))
			if err == nil {
				x.acked[n]++
			} else {
				t.Logf("order %d: %v", n, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		done <- longest
	}()
	for i := range 3 {
		time.Sleep(2 * time.Second)
		nc, err := x.dial()
		conformance.Must(t, err)
		client, _ := js.New(nc)
		leader := i
		if s, err := client.Stream(t.Context(), "bus"); err == nil {
			fmt.Sscanf(s.CachedInfo().Cluster.Leader, "s%d", &leader)
		}
		nc.Close()
		cluster.Servers[leader].Shutdown()
		cluster.Servers[leader].WaitForShutdown()
		time.Sleep(2 * time.Second)
		cluster.Restart(leader)
	}
	t.Log("the longest publication took", <-done)
	idle, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, w := range workers {
		if err := w.bus.WaitIdle(idle); err != nil {
			t.Error(err)
		}
	}
	for _, w := range append(workers, publisher) {
		conformance.Must(t, w.bus.Shutdown(context.Background()))
	}
	problems, counts := x.check(*clusterEvents)
	for _, problem := range problems {
		t.Error(problem)
	}
	t.Log(counts)
}
