//go:build unix

package jetstream_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/retry"
)

var (
	stopFor = flag.Duration("stop.for", 10*time.Second, "for how long a process is stopped, or cut off; what it has is taken over after 8 seconds")
	stopAll = flag.Bool("stop.all", false, "stop and cut off owners of subscriptions and owners of parts, instead of one each")
)

// dawdle is the role of a worker that takes its time, and handles so many orders at once. If
// that is one, the subscription is not divided between processes, but has one owner. The
// children that it publishes have the number of its process.
func dawdle(args []string) {
	asked := servertest.Asked()
	concurrency, _ := strconv.Atoi(args[1])
	bus := openUntil(args[0], asked)
	_, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
		n := e.Payload.Number
		servertest.Say("begun %d", n)
		time.Sleep(5 * time.Millisecond)
		if n%8 == 0 {
			time.Sleep(200 * time.Millisecond)
		}
		if n%5 == 0 && e.Attempt == 1 {
			return errors.New("not yet")
		}
		_, err := runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{OrderID: fmt.Sprintf("%d %d", n, os.Getpid())})
		servertest.Say("orders %d", n)
		return err
	}, runtime.FromBeginning(), runtime.WithConcurrency(concurrency), runtime.WithRetry(retry.BaseDelay(100*time.Millisecond)))
	for ; err == nil; pauseOrEnd("start", err, asked) {
		if err = bus.Start(context.Background()); err == nil {
			break
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	servertest.Say("started %d", os.Getpid())
	<-asked
	bus.Shutdown(context.Background())
}

// A process that handles orders is stopped, or cut off from the servers, for longer than it
// takes others to take over what it has: the subscription, or its parts. Then it goes on where
// it was: its handlers return, and it says so. Nothing of that is stored.
func TestNothingIsStoredOfWhatAnOwnerSaysAfterItsTakeover(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	nodes := servertest.StartNodes(t, 3)
	t.Run("all", func(t *testing.T) { // at the same time
		for name, concurrency := range map[string]int{"whole": 1, "parts": 8} {
			t.Run("stopped, "+name, func(t *testing.T) {
				if t.Parallel(); concurrency == 1 && !*stopAll {
					t.Skip("with -stop.all")
				}
				lateOwner(t, nodes, "stopped-"+name, concurrency, nodes.Hosts(), (*servertest.Process).Stop, (*servertest.Process).Continue)
			})
			t.Run("cut off, "+name, func(t *testing.T) {
				if t.Parallel(); concurrency > 1 && !*stopAll {
					t.Skip("with -stop.all")
				}
				network := servertest.StartProxy(t, nodes.Hosts())
				lateOwner(t, nodes, "cut-"+name, concurrency, network.Hosts(), func(*servertest.Process) { network.Cut() }, func(*servertest.Process) { network.Heal() })
			})
		}
	})
}

// lateOwner stops a process that has something of a subscription, lets it go on, and looks what
// is stored.
func lateOwner(t *testing.T, nodes *servertest.Nodes, name string, concurrency int, hosts string, stop, goOn func(*servertest.Process)) {
	bus, err := runtime.Open(t.Context(), "nats://"+nodes.Hosts()+"/"+name, conformance.Catalogue, jetstream.Engine(jetstream.Replicas(3)))
	conformance.Must(t, err)
	defer bus.Shutdown(context.Background())
	nc, err := nodes.Connect()
	conformance.Must(t, err)
	defer nc.Close()
	client, _ := js.New(nc)
	w := newWitness(t)
	defer w.watch(client, name)()

	said, other := newJournal(), newJournal()
	var stopping atomic.Bool
	running := make(chan struct{}, 1000)
	hear := func(line string) {
		said.hear(line)
		var n int
		if _, err := fmt.Sscanf(line, "begun %d", &n); err == nil && stopping.Load() && n%8 == 0 && n%5 != 0 {
			running <- struct{}{}
		}
	}
	start := func(hear func(string), said *journal, hosts string) (p *servertest.Process, pid int) {
		p = servertest.StartProcess(t, hear, "dawdler", "nats://"+hosts+"/"+name, strconv.Itoa(concurrency))
		until(t, "a process starts", func() bool { return said.count("started") > 0 })
		return p, said.first("started")
	}
	first, old := start(hear, said, hosts)
	second, next := start(other.hear, other, nodes.Hosts())
	if concurrency > 1 {
		until(t, "they share the parts", func() bool { return w.has(old) == 8 && w.has(next) == 8 })
	}

	published := 0
	publish := func(d time.Duration) {
		for began := time.Now(); time.Since(began) < d; time.Sleep(40 * time.Millisecond) {
			_, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: strconv.Itoa(published), Number: published})
			conformance.Must(t, err)
			published++
		}
	}
	publish(2 * time.Second)
	stopping.Store(true)
	for waiting := true; waiting; { // for a handler that takes its time, and succeeds
		publish(time.Millisecond)
		select {
		case <-running:
			waiting = false
		default:
		}
	}
	had := w.has(old)
	stop(first)
	stopped := time.Now()
	until(t, "what it has is taken over", func() bool { return w.has(old) == 0 && w.has(next) > 0 })
	after := time.Since(stopped)
	publish(*stopFor - after)
	goOn(first)
	goneOn := time.Now()
	publish(2 * time.Second)
	var again time.Duration
	if concurrency > 1 {
		until(t, "the first process shares the parts again", func() bool { return w.has(old) > 0 })
		again = time.Since(goneOn)
		publish(2 * time.Second)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conformance.Must(t, bus.WaitIdle(ctx))
	until(t, "everything is read", func() bool { return w.read(published) })
	first.End(20 * time.Second)
	second.End(20 * time.Second)

	by := w.check(published)
	late := said.count("orders") - by[old]
	if late == 0 {
		t.Error("the first process has said nothing that came too late, so that nothing is shown")
	}
	t.Logf("%d orders; what the first process had (%d) was taken over after %v, and it was away for %v; what it said of %d orders came too late; it shares again after %v; children of both: %d and %d",
		published, had, after.Round(time.Millisecond), goneOn.Sub(stopped).Round(time.Millisecond), late, again.Round(time.Millisecond), by[old], by[next])
}

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not happen: ", what)
		}
	}
}
