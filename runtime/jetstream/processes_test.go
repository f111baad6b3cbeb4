//go:build unix

package jetstream_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

var (
	fourProcesses = flag.Bool("processes", false, "let four processes share a subscription, measure, and kill them")
	fourSeed      = flag.Uint64("processes.seed", 1, "which processes are killed")
	fourKills     = flag.Int("processes.kills", 12, "how many processes are killed, stopped, and ended")
	fourAtOnce    = flag.Int("processes.concurrency", 2, "how many handlers each process runs at once")
	fourWindow    = flag.Duration("processes.window", 10*time.Second, "for how long handled events are counted")
)

// handlerTime is how long a handler of four processes takes.
const handlerTime = 10 * time.Millisecond

// fourKeys is how many partition keys there are.
const fourKeys = 200

// count is the role of a worker whose handlers say when they begin and end.
func count(args []string) {
	asked := servertest.Asked()
	concurrency, _ := strconv.Atoi(args[1])
	bus := openUntil(args[0], asked)
	_, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
		servertest.Say("begin %s %d %d", e.Payload.OrderID, e.Payload.Number, time.Now().UnixNano())
		time.Sleep(handlerTime)
		servertest.Say("end %s %d %d", e.Payload.OrderID, e.Payload.Number, time.Now().UnixNano())
		return nil
	}, runtime.FromBeginning(), runtime.WithConcurrency(concurrency))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for err := bus.Start(context.Background()); err != nil; err = bus.Start(context.Background()) {
		pauseOrEnd("start", err, asked)
	}
	servertest.Say("started %d", os.Getpid())
	<-asked
	bus.Shutdown(context.Background())
}

// four are processes that share a subscription.
type four struct {
	*statements
	t       *testing.T
	witness *witness
	target  string
	bus     *runtime.Bus

	workers   []*counter
	published [fourKeys]int // by key
	stop      chan struct{} // closed when no more is published
	publisher sync.WaitGroup
}

// counter is one of them.
type counter struct {
	*servertest.Process
	*life
	pid int
}

func (x *four) start() *counter {
	started := make(chan int, 1)
	c := &counter{life: x.born()}
	c.Process = servertest.StartProcess(x.t, func(line string) {
		var pid int
		if _, err := fmt.Sscanf(line, "started %d", &pid); err == nil {
			started <- pid
			return
		}
		x.hear(c.life, line)
	}, "counter", x.target, strconv.Itoa(*fourAtOnce))
	select {
	case c.pid = <-started:
	case <-time.After(time.Minute):
		x.t.Fatal("a process does not start")
	}
	x.workers = append(x.workers, c)
	return c
}

// publish keeps a backlog of events, those of each key with the numbers 0, 1, 2 and so on.
func (x *four) publish() {
	for n := 0; ; {
		select {
		case <-x.stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
		if n-x.handled() > 4000 {
			continue
		}
		var all []conformance.OrderPlaced
		for range 500 {
			all = append(all, conformance.OrderPlaced{OrderID: fmt.Sprint("key", n%fourKeys), Number: n / fourKeys})
			n++
		}
		if _, err := runtime.PublishBatch(context.Background(), x.bus, conformance.PlacedType, all); err != nil {
			x.t.Error(err)
			return
		}
		x.mu.Lock()
		for _, e := range all {
			var key int
			fmt.Sscanf(e.OrderID, "key%d", &key)
			x.published[key]++
		}
		x.mu.Unlock()
	}
}

// awaitFair waits until all have a fair share of the parts, and returns how long that takes.
func (x *four) awaitFair() time.Duration {
	began := time.Now()
	until(x.t, "all have a fair share", func() bool {
		all := 0
		for _, c := range x.workers {
			n := x.witness.has(c.pid)
			if n < 16/len(x.workers) || n > (15+len(x.workers))/len(x.workers) {
				return false
			}
			all += n
		}
		return all == 16
	})
	return time.Since(began)
}

// rate returns how many events are handled each second.
func (x *four) rate() float64 {
	before, began := x.handled(), time.Now()
	time.Sleep(*fourWindow)
	return float64(x.handled()-before) / time.Since(began).Seconds()
}

// disturb ends a process, or stops it for a while.
func (x *four) disturb(random *rand.Rand, done map[string]int) {
	at := random.IntN(len(x.workers))
	c := x.workers[at]
	switch random.IntN(4) {
	case 0:
		done["shutdowns"]++
		if !c.End(20 * time.Second) {
			x.t.Error("a process does not end")
		}
	case 1:
		done["stops"]++
		x.away(c.life)
		c.Stop()
		time.Sleep(12 * time.Second)
		c.Continue()
		x.back(c.life)
		return
	default:
		done["kills"]++
		x.away(c.life)
		c.Kill()
		x.dead(c.life)
	}
	x.workers = append(x.workers[:at], x.workers[at+1:]...)
	time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
	x.start()
}

// Four processes share the parts of a subscription: how soon one that comes has its share, how
// much more four do than one, and whether the order of each key is kept when they are killed.
func TestFourRealProcessesShareASubscription(t *testing.T) {
	if !*fourProcesses {
		t.Skip("with -processes")
	}
	nodes := servertest.StartNodes(t, 3)
	bus, err := runtime.Open(t.Context(), "nats://"+nodes.Hosts()+"/four", conformance.Catalogue, jetstream.Engine(jetstream.Replicas(3)))
	conformance.Must(t, err)
	defer bus.Shutdown(context.Background())
	nc, err := nodes.Connect()
	conformance.Must(t, err)
	defer nc.Close()
	client, _ := js.New(nc)
	x := &four{statements: newStatements(), t: t, witness: newWitness(t), target: "nats://" + nodes.Hosts() + "/four", bus: bus, stop: make(chan struct{})}
	defer x.witness.watch(client, "four")()

	x.publisher.Go(x.publish)
	x.start()
	x.awaitFair()
	time.Sleep(2 * time.Second)
	one := x.rate()
	for range 3 {
		began := time.Now()
		x.start()
		starting := time.Since(began)
		took := x.awaitFair()
		t.Logf("process %d has its share %v after it has started, which took %v", len(x.workers), took.Round(time.Millisecond), starting.Round(time.Millisecond))
		if took > 5*time.Second {
			t.Error("that takes more than 5s")
		}
	}
	time.Sleep(2 * time.Second)
	all := x.rate()
	t.Logf("one process handles %.0f events each second, four handle %.0f: %.2f times as many", one, all, all/one)
	if all/one < 3.4 {
		t.Error("want 3.4 times")
	}

	random, done := rand.New(rand.NewPCG(*fourSeed, 4)), map[string]int{}
	for range *fourKills {
		time.Sleep(time.Duration(500+random.IntN(6000)) * time.Millisecond)
		x.disturb(random, done)
	}
	close(x.stop)
	x.publisher.Wait()
	until(t, "everything is handled", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		want := 0
		for _, n := range x.published {
			want += n
		}
		return len(x.different) == want
	})
	for _, c := range x.workers {
		if !c.End(20 * time.Second) {
			t.Error("a process does not end")
		}
	}
	x.check(t, x.published[:])
	t.Log(done)
}
