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

	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

var (
	killSeed   = flag.Uint64("kill.seed", 1, "the first seed")
	killRounds = flag.Int("kill.rounds", 1, "how many seeds")
	killEvents = flag.Int("kill.events", 300, "how many orders each")
	killKills  = flag.Int("kill.kills", 2, "how many processes are killed in each round")
	killRate   = flag.Int("kill.rate", 200, "how many orders are published each second")
)

// journal is what processes have said.
type journal struct {
	mu      sync.Mutex
	said    map[string]map[int]int // how often, by the word and the number of an order
	highest int                    // the greatest number that was tried
	last    time.Time              // of the last acknowledgement
	longest time.Duration          // between two of them
	errors  map[string]int
	done    bool
}

func newJournal() *journal {
	return &journal{said: map[string]map[int]int{}, errors: map[string]int{}, highest: -1}
}

// hear takes a line.
func (j *journal) hear(line string) {
	word, rest, _ := strings.Cut(line, " ")
	j.mu.Lock()
	defer j.mu.Unlock()
	switch word {
	case "published":
		j.done = true
		return
	case "error":
		if len(rest) > 160 {
			rest = rest[:160]
		}
		j.errors[rest]++
		return
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return
	}
	if j.said[word] == nil {
		j.said[word] = map[int]int{}
	}
	j.said[word][n]++
	switch word {
	case "tried":
		j.highest = max(j.highest, n)
	case "acknowledged":
		now := time.Now()
		if !j.last.IsZero() {
			j.longest = max(j.longest, now.Sub(j.last))
		}
		j.last = now
	}
}

// finished reports whether everything is published.
func (j *journal) finished() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.done
}

// killing is a cluster whose servers and clients are killed.
type killing struct {
	*journal
	t        *testing.T
	nodes    *servertest.Nodes
	target   string
	poison   int
	stopping chan struct{}
	wait     sync.WaitGroup

	procs     sync.Mutex
	workers   [3]*servertest.Process
	publisher *servertest.Process
	killed    map[string]int
	suicides  int // how often a worker has ended without being killed by the test
}

// keepWorker starts a worker again whenever it has ended.
func (k *killing) keepWorker(i int) {
	for {
		k.procs.Lock()
		p := servertest.StartProcess(k.t, k.hear, "worker", k.target, strconv.Itoa(k.poison))
		k.workers[i] = p
		k.procs.Unlock()
		select {
		case <-p.Ended():
		case <-k.stopping:
			if !p.End(20 * time.Second) {
				k.t.Error("a worker does not end")
			}
			return
		}
		k.procs.Lock()
		k.suicides++
		k.procs.Unlock()
	}
}

// keepPublisher starts the publisher again, behind what it has tried, until all is published.
func (k *killing) keepPublisher(events, rate int) {
	for !k.finished() {
		k.mu.Lock()
		from := k.highest + 1
		k.last = time.Time{}
		k.mu.Unlock()
		k.procs.Lock()
		p := servertest.StartProcess(k.t, k.hear, "publisher", k.target, strconv.Itoa(from), strconv.Itoa(events), strconv.Itoa(rate))
		k.publisher = p
		k.procs.Unlock()
		<-p.Ended()
	}
}

// kill kills a process, and starts it again.
func (k *killing) kill(random *rand.Rand) {
	what, victim := random.IntN(20), random.IntN(3)
	k.procs.Lock()
	worker, publisher := k.workers[victim], k.publisher
	k.procs.Unlock()
	switch {
	case what < 8:
		k.killed["workers"]++
		k.suicides--
		worker.Kill()
		return
	case what == 8 && !k.finished():
		k.killed["publishers"]++
		publisher.Kill()
		return
	case what < 15:
		if leader := k.nodes.Leader("bus"); leader >= 0 {
			victim = leader
			k.killed["leaders"]++
		}
	}
	k.killed["nodes"]++
	k.nodes.Kill(victim)
	time.Sleep(time.Duration(500+random.IntN(2000)) * time.Millisecond)
	k.nodes.Start(victim)
	k.nodes.WaitCurrent("bus", time.Minute) // two servers of three have to be there
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

// Three servers keep the stream, three workers handle orders, and a publisher publishes
// them, all in processes of their own, which are killed with SIGKILL. Some orders kill their
// worker themselves.
func TestNothingIsLostOrDoubledWhenServersAndWorkersAreKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	for round := range *killRounds {
		seed := *killSeed + uint64(round)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { killRound(t, seed) })
	}
}

func killRound(t *testing.T, seed uint64) {
	events, random := *killEvents, rand.New(rand.NewPCG(seed, 16))
	k := &killing{journal: newJournal(), t: t, nodes: servertest.StartNodes(t, 3), stopping: make(chan struct{}), killed: map[string]int{}}
	if events >= 2000 { // an order that is poison ends a worker seven times, and each is missed after two seconds
		k.poison = events / 4
	}
	k.target = "nats://" + k.nodes.Hosts() + "/bus"
	began := time.Now()
	published := make(chan struct{})
	go func() { k.keepPublisher(events, *killRate); close(published) }()
	for i := range k.workers {
		k.wait.Go(func() { k.keepWorker(i) })
	}
	for k.count("acknowledged") == 0 || k.count("orders") == 0 {
		time.Sleep(50 * time.Millisecond)
	}
	for range *killKills {
		time.Sleep(time.Duration(500+random.IntN(3000)) * time.Millisecond)
		k.kill(random)
	}
	<-published
	spent := time.Since(began)
	nc, err := k.nodes.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	client, _ := js.New(nc, js.WithDefaultTimeout(20*time.Second))
	k.drain(client, time.Minute)
	close(k.stopping)
	k.wait.Wait()
	k.nodes.WaitCurrent("bus", time.Minute)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	f, err := readStream(ctx, client, true)
	for tries := 0; err != nil && tries < 5; tries++ {
		t.Log("the stream cannot be read; trying again: ", err)
		time.Sleep(time.Second)
		f, err = readStream(ctx, client, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	problems, counts := f.check(k.journal, events, k.poison)
	for _, problem := range problems {
		t.Error(problem)
	}
	for _, subject := range f.openRows() {
		for _, line := range onReplicas(client, subject) {
			t.Log(line)
		}
	}
	t.Logf("killed %v, and poison ended %d workers; published in %v, all settled after %v; longest time without a publication %v; %d in doubt",
		k.killed, k.suicides, spent.Round(time.Second), time.Since(began).Round(time.Second), k.longest.Round(time.Millisecond), len(k.said["doubted"]))
	t.Log(counts)
	for text, n := range k.errors {
		t.Logf("%d × %s", n, text)
	}
}

// count returns for how many orders something was said.
func (j *journal) count(word string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.said[word])
}

// first returns an order for which something was said, or another number.
func (j *journal) first(word string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	for n := range j.said[word] {
		return n
	}
	return -1
}
