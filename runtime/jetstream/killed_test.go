//go:build unix

package jetstream_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

var (
	killSeed   = flag.Uint64("kill.seed", 1, "the first seed")
	killRounds = flag.Int("kill.rounds", 1, "how many seeds")
	killHarms  = short.Flag("kill.harms", 8, 2, "how many harms are done in each round")
	killRate   = flag.Int("kill.rate", 200, "how many orders are published each second")
)

// killing is a cluster whose servers and clients are harmed.
type killing struct {
	*journal
	*statements
	t          *testing.T
	nodes      *servertest.Nodes
	network    *servertest.Network
	target     string
	poison     int
	random     *rand.Rand
	enough     chan struct{} // closed when no more is to be published
	stopping   chan struct{}
	wait       sync.WaitGroup
	worst      recovery
	stood      standstill
	leaderless int // how often servers have lost their leader without a harm

	procs     sync.Mutex
	workers   [4]*handling
	publisher *servertest.Process
	harmed    map[string]int
	untold    []string  // harms since the last log
	poisoned  int       // how many workers orders have ended
	lastDeath time.Time // of them
}

// handling is the process of a worker.
type handling struct {
	*servertest.Process
	*life

	mu            sync.Mutex
	harmed        bool      // killed by the test
	dies          bool      // by an order
	beat, handled time.Time // the last ones
}

// hear takes a line of a worker.
func (k *killing) hear(w *handling, line string) {
	k.journal.hear(line)
	now := time.Now()
	word, rest, _ := strings.Cut(line, " ")
	w.mu.Lock()
	switch word {
	case "beat":
		w.beat = now
	case "orders":
		w.handled = now
	case "dies":
		w.dies = true
	}
	w.mu.Unlock()
	one := statement{of: w.life, begins: word == "begin"}
	var at int64
	if _, err := fmt.Sscan(rest, &one.n, &at); err != nil || word != "begin" && word != "end" || !(order{n: one.n}).inOrder() {
		return
	}
	one.key, one.at = order{n: one.n}.key(), time.Unix(0, at)
	k.statements.mu.Lock()
	defer k.statements.mu.Unlock()
	k.statements.all = append(k.statements.all, one)
}

// keepWorker starts a worker again whenever it has ended.
func (k *killing) keepWorker(i int) {
	for {
		w := &handling{life: k.born()}
		k.procs.Lock()
		w.Process = servertest.StartProcess(k.t, func(line string) { k.hear(w, line) }, "worker", k.target, strconv.Itoa(k.poison))
		k.workers[i] = w
		k.procs.Unlock()
		select {
		case <-w.Ended():
		case <-k.stopping:
			if !w.End(20 * time.Second) {
				k.t.Error("a worker does not end")
			}
			return
		}
		w.mu.Lock()
		harmed, dies := w.harmed, w.dies
		w.mu.Unlock()
		if harmed {
			continue
		}
		if !dies {
			k.t.Error("a worker has ended by itself")
		}
		k.procs.Lock()
		k.poisoned++
		k.lastDeath = time.Now()
		k.procs.Unlock()
		k.away(w.life)
		k.dead(w.life)
	}
}

// keepPublisher starts the publisher again, behind what it has tried, until enough is published.
func (k *killing) keepPublisher() {
	for !k.finished() {
		k.journal.mu.Lock()
		from := k.highest + 1
		k.last = time.Time{}
		k.journal.mu.Unlock()
		k.procs.Lock()
		p := servertest.StartProcess(k.t, k.journal.hear, "publisher", k.target, strconv.Itoa(from), strconv.Itoa(*killRate))
		k.publisher = p
		k.procs.Unlock()
		select {
		case <-p.Ended():
		case <-k.enough:
			p.End(2 * lastPublication)
		}
	}
}

// drain waits until everything is settled. If nothing changes for a time, it fails.
func (k *killing) drain(client js.JetStream, patience time.Duration) {
	before, since := "nothing is read", time.Now()
	for {
		k.nodes.WaitCurrent("bus", time.Minute) // any of them may answer
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		f, err := readStream(ctx, client, false)
		cancel()
		open := fmt.Sprint(err)
		if err == nil {
			open = f.open()
		}
		// A record that is replaced while the stream is read may be missed once.
		if open == "" && before == "" && time.Since(since) > time.Second {
			return
		}
		if open != before {
			before, since = open, time.Now()
		}
		if open != "" && time.Since(since) > patience {
			k.t.Error("not everything is settled, and nothing changes: ", open)
			if f != nil {
				for _, subject := range f.openRows() {
					k.t.Log(onReplicas(client, subject))
				}
			}
			k.procs.Lock()
			defer k.procs.Unlock()
			for _, p := range k.workers {
				p.Dump()
			}
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// Three servers keep the stream, four workers handle orders, and a publisher publishes them, all in processes of their
// own. They are killed with SIGKILL, stopped with SIGSTOP for a while, and the network between them is cut. Some
// orders kill their worker themselves.
func TestNothingIsLostOrDoubledWhenServersAndWorkersAreKilled(t *testing.T) {
	short.Visit(t, "processes are harmed")
	for round := range *killRounds {
		seed := *killSeed + uint64(round)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { killRound(t, seed) })
	}
}

func killRound(t *testing.T, seed uint64) {
	k := &killing{
		journal: newJournal(), statements: newStatements(), t: t, random: rand.New(rand.NewPCG(seed, 16)),
		enough: make(chan struct{}), stopping: make(chan struct{}), harmed: map[string]int{},
	}
	k.nodes, k.network = servertest.StartNodesApart(t, 3)
	if !testing.Short() { // an order that is poison ends a worker seven times, and each is missed after two seconds
		k.poison = 10_000
	}
	k.target = "nats://" + k.network.Hosts() + "/bus"
	nc, err := k.nodes.Connect()
	conformance.Must(t, err)
	defer nc.Close()
	client, _ := js.New(nc, js.WithDefaultTimeout(20*time.Second))
	go k.stood.watch(k.stopping, k.excuse)
	began := time.Now()
	published := make(chan struct{})
	go func() { k.keepPublisher(); close(published) }()
	for i := range k.workers {
		k.wait.Go(func() { k.keepWorker(i) })
	}
	until(t, "orders are handled", func() bool { return k.count("acknowledged") > 0 && k.count("orders") > 0 })
	for n := range killHarms.N() {
		k.harm(n)
	}
	close(k.enough)
	<-published
	spent := time.Since(began)
	k.drain(client, time.Minute)
	close(k.stopping)
	k.wait.Wait()
	k.nodes.WaitCurrent("bus", time.Minute)
	var f *found
	for tries := 0; tries == 0 || err != nil && tries < 5; tries++ {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if f, err = readStream(ctx, client, true); err != nil {
			t.Log("the stream cannot be read; trying again: ", err)
			time.Sleep(time.Second)
		}
		cancel()
	}
	conformance.Must(t, err)
	problems, counts := f.check(k.journal, k.highest+1, k.poison)
	for _, problem := range problems {
		t.Error(problem)
	}
	for _, subject := range f.openRows() {
		for _, line := range onReplicas(client, subject) {
			t.Log(line)
		}
	}
	k.checkOrder(f)
	t.Logf("%v, and poison ended %d workers; published in %v, all settled after %v; longest time without a publication %v; %d in doubt",
		k.harmed, k.poisoned, spent.Round(time.Second), time.Since(began).Round(time.Second), k.longest.Round(time.Millisecond), len(k.said["doubted"]))
	_, lost := k.stood.look()
	t.Logf("at worst, after a harm, %v; the machine had no time for the test for %v, and the servers lost their leader by themselves %d times", k.worst, lost.Round(time.Millisecond), k.leaderless)
	t.Log(counts)
	for text, n := range k.errors {
		t.Logf("%d × %s", n, text)
	}
}

// checkOrder compares the order in which orders were handled, of keys whose orders always succeed, with that of the stream.
func (k *killing) checkOrder(f *found) {
	k.statements.mu.Lock()
	all := k.statements.all[:0]
	for _, s := range k.statements.all {
		at, stored := f.inKeys[s.n]
		if !stored {
			k.t.Errorf("order %d was handled and is not stored", s.n)
			continue
		}
		s.n = at
		all = append(all, s)
	}
	k.statements.all = all
	k.statements.mu.Unlock()
	published := f.ofKeys
	for key := range published {
		if !(order{n: key}).inOrder() {
			published[key] = 0
		}
	}
	k.check(k.t, published[:])
}
