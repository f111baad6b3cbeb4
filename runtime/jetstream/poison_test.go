//go:build unix

package jetstream_test

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/retry"
)

var (
	poisonSeed   = flag.Uint64("poison.seed", 1, "the first seed of busy processes with events that end them")
	poisonRounds = short.Flag("poison.rounds", 2, 1, "how many seeds")
)

// poisoned is a bus whose processes are busy with several subscriptions, and that has events whose
// handler ends the process.
type poisoned struct {
	t      *testing.T
	server *servertest.Server
	random *rand.Rand
	over   chan struct{} // closed when handlers of processes that are dead may end

	mu      sync.Mutex
	poisons map[int]bool
	lives   map[int]int // that an event has ended
}

// lived is one of the processes.
type lived struct {
	of   *poisoned
	bus  *runtime.Bus
	line *servertest.Line
	dead chan struct{}
}

const poisonedAttempts = 4

func (x *poisoned) start() *lived {
	p := &lived{of: x, line: x.server.Line(), dead: make(chan struct{})}
	bus, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)),
		jetstream.Engine(jetstream.InMemory(), jetstream.Hasty(), jetstream.Through(func(string) (*nats.Conn, error) {
			return p.line.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(time.Hour))
		})))
	conformance.Must(x.t, err)
	p.bus = bus
	for _, sub := range []struct {
		name        string
		concurrency int
	}{{"work", 8}, {"bulk", 8}, {"strict", 1}} {
		_, err := runtime.Subscribe(bus, conformance.PlacedType, sub.name, func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
			return p.handle(sub.name, e)
		}, runtime.FromBeginning(), runtime.WithConcurrency(sub.concurrency), runtime.WithoutTimeout(),
			runtime.WithRetry(retry.MaxAttempts(poisonedAttempts), retry.BaseDelay(200*time.Millisecond)))
		conformance.Must(x.t, err)
	}
	conformance.Must(x.t, bus.Start(context.Background()))
	return p
}

func (p *lived) handle(sub string, e runtime.Event[conformance.OrderPlaced]) error {
	x, n := p.of, e.Payload.Number
	x.mu.Lock()
	ends := sub == "work" && x.poisons[n]
	if ends && !p.isDead() {
		x.lives[n]++
		close(p.dead)
		p.line.Cut()
	}
	x.mu.Unlock()
	h := fnv.New32a()
	fmt.Fprint(h, sub, n)
	select {
	case <-time.After(time.Duration(h.Sum32()%3000) * time.Microsecond):
	case <-p.dead:
	}
	if p.isDead() { // nothing of it goes on
		<-x.over
	}
	return nil
}

func (p *lived) isDead() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// An event whose handler ends the process is a dead letter after max_attempts + 2 lives at most, however
// many subscriptions are busy in however many processes, and no other event is charged for it.
func TestAPoisonEventTakesTwoLivesMoreThanItsAttemptsAtMost(t *testing.T) {
	for round := range poisonRounds.N() {
		for _, processes := range []int{1, 3} {
			seed := *poisonSeed + uint64(round)
			t.Run(fmt.Sprint("seed ", seed, " processes ", processes), func(t *testing.T) {
				deafBubble(t, func(t *testing.T) { poisonBusy(t, seed, processes) })
			})
		}
	}
}

func poisonBusy(t *testing.T, seed uint64, processes int) {
	ctx := context.Background()
	x := &poisoned{t: t, server: servertest.Start(t, t.TempDir()), random: rand.New(rand.NewPCG(seed, 0)), poisons: map[int]bool{}, lives: map[int]int{}, over: make(chan struct{})}
	for range 3 {
		x.poisons[200+x.random.IntN(1500)] = true
	}
	line := x.server.Line()
	publisher, err := runtime.Open(ctx, "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)),
		jetstream.Engine(jetstream.InMemory(), jetstream.Through(func(string) (*nats.Conn, error) { return line.Connect() })))
	conformance.Must(t, err)
	letters, err := inspect.Open(ctx, "nats://test/bus", jetstream.Inspect(jetstream.Through(func(string) (*nats.Conn, error) { return line.Other().Connect() })))
	conformance.Must(t, err)
	var all, living []*lived
	start := func() *lived {
		p := x.start()
		all = append(all, p)
		return p
	}
	for range processes {
		living = append(living, start())
	}
	published := 0
	for began := time.Now(); time.Since(began) < 3*time.Minute; time.Sleep(20 * time.Millisecond) {
		var orders []conformance.OrderPlaced
		for range 8 {
			orders = append(orders, conformance.OrderPlaced{OrderID: fmt.Sprint(published % 100), Number: published})
			published++
		}
		_, err := runtime.PublishBatch(ctx, publisher, conformance.PlacedType, orders)
		conformance.Must(t, err)
		for i, p := range living {
			if p.isDead() {
				living[i] = start()
			}
		}
		n, err := letters.CountDeadLetters(ctx, event.Filter{})
		if conformance.Must(t, err); n >= len(x.poisons) {
			break
		}
	}
	idle, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conformance.Must(t, publisher.WaitIdle(idle))
	for n := range x.poisons {
		if lives := x.lives[n]; lives < poisonedAttempts || lives > poisonedAttempts+2 {
			t.Errorf("event %d has ended %d processes, want %d to %d", n, lives, poisonedAttempts, poisonedAttempts+2)
		}
	}
	x.check(clientOf(t, x.server))
	t.Log(len(all), "processes,", published, "events, ended by each poison event:", x.lives)
	close(x.over)
	for _, p := range all {
		end, cancel := context.WithCancel(ctx)
		if p.isDead() {
			cancel()
		}
		p.bus.Shutdown(end)
		cancel()
	}
	conformance.Must(t, letters.Close())
	conformance.Must(t, publisher.Shutdown(ctx))
}

// check looks for what is dead, and for what was charged.
func (x *poisoned) check(client js.JetStream) {
	if dead := x.count(client); dead != len(x.poisons) {
		x.t.Errorf("%d of %d poison events are dead letters", dead, len(x.poisons))
	}
}

// count reads the rows, and counts the poison events that are dead letters. No other event is one, or was charged.
func (x *poisoned) count(client js.JetStream) (dead int) {
	found, err := readStream(context.Background(), client, false)
	conformance.Must(x.t, err)
	for subject, r := range found.rows {
		switch poison := x.poisons[r.Order] && found.subscriptions[strings.Split(subject, ".")[2]] == "work"; {
		case poison && r.State == "dead":
			dead++
		case poison:
		case len(r.Attempts) > 0 || r.State == "dead":
			x.t.Errorf("%s, the row of event %d, which does no harm, is %s with the failed attempts %v", subject, r.Order, r.State, r.Attempts)
		}
	}
	return dead
}
