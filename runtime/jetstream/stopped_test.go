//go:build unix

package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
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

var stopFor = flag.Duration("stop.for", 10*time.Second, "for how long an owner is stopped, or cut off; it is taken over after 8 seconds")

// dawdle is the role of a worker that takes its time. It handles one order after the other, so
// that the subscription is not divided between processes, but has one owner. The children that it publishes have its
// name.
func dawdle(args []string) {
	asked := servertest.Asked()
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
		_, err := runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{OrderID: fmt.Sprintf("%d %s", n, args[1])})
		servertest.Say("orders %d", n)
		return err
	}, runtime.FromBeginning(), runtime.WithRetry(retry.BaseDelay(100*time.Millisecond)))
	for ; err == nil; pauseOrEnd("start", err, asked) {
		if err = bus.Start(context.Background()); err == nil {
			break
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	servertest.Say("started 0")
	<-asked
	bus.Shutdown(context.Background())
}

// witness reads a stream while it is written, and knows the format of the records only.
type witness struct {
	t        *testing.T
	mu       sync.Mutex
	owners   []string // of the cursor of the subscription, as they followed each other
	takeover uint64   // the first cursor of the second owner
	children map[int][]child
	orders   map[int]bool
}

type child struct {
	by  string
	seq uint64
}

func (w *witness) watch(client js.JetStream, bus string) (stop func()) {
	reader, err := client.OrderedConsumer(context.Background(), bus, js.OrderedConsumerConfig{FilterSubjects: []string{bus + ".c.>", bus + ".e.>"}})
	conformance.Must(w.t, err)
	running, err := reader.Consume(func(m js.Msg) {
		w.mu.Lock()
		defer w.mu.Unlock()
		at, err := m.Metadata()
		if err != nil {
			w.t.Error(err)
			return
		}
		var record struct {
			Owner  string
			Number int    `json:"number"`
			Paid   string `json:"order_id"`
		}
		if err := json.Unmarshal(m.Data(), &record); err != nil {
			w.t.Error(err)
		}
		switch {
		case strings.HasPrefix(m.Subject(), bus+".c."):
			if last := len(w.owners) - 1; record.Owner != "" && (last < 0 || w.owners[last] != record.Owner) {
				if w.owners = append(w.owners, record.Owner); len(w.owners) == 2 {
					w.takeover = at.Sequence.Stream
				}
			}
		case m.Headers().Get("Busgen-Type") == "order.paid":
			text, by, _ := strings.Cut(record.Paid, " ")
			n, _ := strconv.Atoi(text)
			w.children[n] = append(w.children[n], child{by, at.Sequence.Stream})
		default:
			w.orders[record.Number] = true
		}
	})
	conformance.Must(w.t, err)
	return running.Stop
}

// A process that handles orders is stopped, or cut off from the servers, for longer than it
// takes others to take its subscription over. Then it goes on where it was: its handlers
// return, and it says so. Nothing of that is stored.
func TestNothingIsStoredOfWhatAnOwnerSaysAfterItsTakeover(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	nodes := servertest.StartNodes(t, 3)
	t.Run("all", func(t *testing.T) { // at the same time
		t.Run("stopped", func(t *testing.T) {
			t.Parallel()
			lateOwner(t, nodes, "stopped", nodes.Hosts(), (*servertest.Process).Stop, (*servertest.Process).Continue)
		})
		t.Run("cut off", func(t *testing.T) {
			t.Parallel()
			network := servertest.StartProxy(t, nodes.Hosts())
			lateOwner(t, nodes, "cut", network.Hosts(), func(*servertest.Process) { network.Cut() }, func(*servertest.Process) { network.Heal() })
		})
	})
}

// lateOwner stops the owner of a subscription, lets it go on, and looks what is stored.
func lateOwner(t *testing.T, nodes *servertest.Nodes, name, hosts string, stop, goOn func(*servertest.Process)) {
	bus, err := runtime.Open(t.Context(), "nats://"+nodes.Hosts()+"/"+name, conformance.Catalogue, jetstream.Engine(jetstream.Replicas(3)))
	conformance.Must(t, err)
	defer bus.Shutdown(context.Background())
	nc, err := nodes.Connect()
	conformance.Must(t, err)
	defer nc.Close()
	client, _ := js.New(nc)
	w := &witness{t: t, children: map[int][]child{}, orders: map[int]bool{}}
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
	first := servertest.StartProcess(t, hear, "dawdler", "nats://"+hosts+"/"+name, "first")
	until(t, "the first process starts", func() bool { return said.count("started") > 0 })
	second := servertest.StartProcess(t, other.hear, "dawdler", "nats://"+nodes.Hosts()+"/"+name, "second")
	until(t, "the second process starts", func() bool { return other.count("started") > 0 })

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
	for range 20 {
		_, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: strconv.Itoa(published), Number: published})
		conformance.Must(t, err)
		published++
	}
	<-running // a handler that takes its time, and succeeds
	stop(first)
	publish(*stopFor)
	until(t, "the subscription is taken over", func() bool { return other.count("orders") > 0 })
	goOn(first)
	publish(2 * time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conformance.Must(t, bus.WaitIdle(ctx))
	until(t, "everything is read", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.orders) == published && len(w.children) == published
	})
	first.End(20 * time.Second)
	second.End(20 * time.Second)

	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.owners) != 2 {
		t.Errorf("the subscription had the owners %q, want two", w.owners)
	}
	by := map[string]int{}
	for n, children := range w.children {
		if len(children) != 1 {
			t.Errorf("order %d has the children %v", n, children)
		}
		for _, c := range children {
			if by[c.by]++; c.by == "first" && c.seq > w.takeover {
				t.Errorf("a child of order %d, which the first owner has published, is stored after the takeover", n)
			}
		}
	}
	late := said.count("orders") - by["first"]
	if late == 0 {
		t.Error("the first owner has said nothing that came too late, so that nothing is shown")
	}
	t.Logf("%d orders; what the first owner said of %d came too late; children: %v", published, late, by)
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
