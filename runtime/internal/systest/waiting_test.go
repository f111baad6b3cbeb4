package systest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

// The test of waiting handlers draws trees of events from a seed: their handlers publish
// children at once and wait for them, one after the other, all together, for a while or not
// at all, and return, fail, panic, exit or hang. Subscriptions have one to four workers,
// and one, several or no partition keys. Processes are killed. Time is virtual.
//
// What must hold is in forest.begin, forest.resume and forest.settled. A failure names its
// seed:
//
//	go test ./runtime/internal/systest -run TestTreesOfWaitingHandlersComeToAnEnd -trees.seed 4711 -v
var (
	treesSeed   = flag.Uint64("trees.seed", 0, "run the test of waiting handlers with this seed only")
	treesRounds = short.Flag("trees.rounds", 25, 3, "how many seeds the test of waiting handlers runs, each with 40 trees")
)

func TestTreesOfWaitingHandlersComeToAnEnd(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	first, rounds := uint64(1), treesRounds.N()
	if *treesSeed != 0 {
		first, rounds = *treesSeed, 1
	}
	total := map[string]int{}
	for i := range uint64(rounds) {
		synctest.Test(t, func(t *testing.T) {
			f := newForest(t, first+i)
			defer func() {
				if t.Failed() {
					t.Logf("this was seed %d", first+i)
				}
				for what, n := range f.counts {
					total[what] += n
				}
			}()
			f.live()
		})
		if t.Failed() {
			break
		}
	}
	t.Logf("%v", total)
}

const (
	treesOfARound = 40
	eventsOfATree = 8
)

// forest is a bus whose handlers wait for each other's events.
type forest struct {
	*testing.T
	seed   uint64
	random *rand.Rand
	subs   []*treeSubscription
	bus    *Fixture

	mu      sync.Mutex
	life    int
	last    int                // number of the newest event
	depth   map[int]int        // by event
	tree    map[int]int        // by event: its root
	size    map[int]int        // by root
	awaited map[int]time.Time  // by event: until when somebody waits; far away while somebody does
	waits   map[int]int        // by event: how many handlers wait for it
	seen    map[string]bool    // attempts
	calls   map[*treeCall]bool // that go on, in this life
	counts  map[string]int
	events  []storyLine
}

type treeSubscription struct {
	name        string
	concurrency int
	timeout     time.Duration
	attempts    int
	strict      bool
}

// treeCall is one call of a handler.
type treeCall struct {
	sub      *treeSubscription
	event    runtime.Event[OrderPlaced]
	life     int
	deadline time.Time
	waiting  int  // goroutines that wait
	forced   bool // it came back by force: its place may be another's
}

const farAway = 1000 * time.Hour

func newForest(t *testing.T, seed uint64) *forest {
	f := &forest{
		T: t, seed: seed, random: rand.New(rand.NewPCG(seed, 13)),
		depth: map[int]int{}, tree: map[int]int{}, size: map[int]int{},
		awaited: map[int]time.Time{}, waits: map[int]int{}, seen: map[string]bool{}, calls: map[*treeCall]bool{}, counts: map[string]int{},
	}
	for i := range 1 + f.random.IntN(3) {
		s := &treeSubscription{name: fmt.Sprint("s", i), concurrency: 1 + f.random.IntN(4), attempts: 1 + f.random.IntN(3)}
		s.timeout = time.Duration(2+f.random.IntN(60)) * time.Second
		s.strict = f.random.IntN(5) == 0
		f.subs = append(f.subs, s)
	}
	return f
}

// live publishes trees and kills the process now and then, and waits until all is settled.
func (f *forest) live() {
	f.open(f.TempDir() + "/events.db")
	var receipts []*runtime.Receipt
	for range treesOfARound {
		f.pause(f.random, 4*time.Second)
		n := f.grow(0)
		r, err := runtime.Publish(f.Context(), f.bus.Bus, PlacedType, OrderPlaced{OrderID: f.key(f.random), Number: n})
		Must(f.T, err)
		receipts = append(receipts, r)
		if f.random.IntN(50) == 0 {
			f.mu.Lock()
			f.counts["kills"]++
			f.life++ // what its handlers do from now on is nobody's business
			f.mu.Unlock()
			path := f.bus.Killed()
			f.open(path)
			receipts = nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 24*time.Hour)
	defer cancel()
	if err := f.bus.WaitIdle(ctx); err != nil {
		f.mu.Lock()
		f.Errorf("the trees came to no end: %v; these run: %v", err, f.calls)
		f.mu.Unlock()
	}
	for _, r := range receipts {
		if outcome, err := r.Wait(ctx); err != nil || len(outcome.Deliveries) != len(f.subs) {
			f.Errorf("a tree has the outcome %+v, %v", outcome, err)
		}
	}
	f.bus.Stop()
	time.Sleep(time.Hour) // for handlers that hang
	f.settled()
}

// open begins a life.
func (f *forest) open(path string) {
	f.mu.Lock()
	f.life++
	clear(f.calls)
	clear(f.awaited)
	clear(f.waits)
	life := f.life
	f.mu.Unlock()
	f.bus = SQLite.Reopen(f.T, path, runtime.WithDurability(runtime.Normal))
	bus := f.bus
	for _, s := range f.subs {
		opts := []runtime.SubscribeOption{
			runtime.WithConcurrency(s.concurrency), runtime.WithTimeout(s.timeout),
			runtime.WithRetry(retry.MaxAttempts(s.attempts), retry.WithBackoff(retry.Constant), retry.BaseDelay(1500*time.Millisecond)),
		}
		if s.strict {
			opts = append(opts, runtime.WithStrictOrder())
		}
		bus.Handle(s.name, func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			return f.handle(ctx, bus.Bus, &treeCall{sub: s, event: e, life: life, deadline: time.Now().Add(s.timeout)})
		}, opts...)
	}
	bus.MustStart()
}

// grow makes the number of a new event; parent is 0 for a root.
func (f *forest) grow(parent int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if root := f.tree[parent]; parent > 0 && (f.size[root] >= eventsOfATree || f.depth[parent] >= 5) {
		return 0
	}
	f.last++
	f.depth[f.last], f.tree[f.last] = f.depth[parent]+1, f.last
	if parent > 0 {
		f.tree[f.last] = f.tree[parent]
	}
	f.size[f.tree[f.last]]++
	return f.last
}

func (f *forest) key(r *rand.Rand) string { return []string{"A", "B", "C"}[r.IntN(3)] }

// pause sleeps for a time that no other is equal to.
func (f *forest) pause(r *rand.Rand, limit time.Duration) {
	time.Sleep(time.Duration(r.Int64N(int64(limit))))
}

// handle does what the seed says.
func (f *forest) handle(ctx context.Context, bus *runtime.Bus, c *treeCall) error {
	f.begin(c)
	defer f.end(c)
	r := rand.New(rand.NewPCG(f.seed<<32+uint64(c.event.Payload.Number), uint64(c.event.Attempt)<<8+uint64(c.sub.name[1])))
	f.pause(r, time.Second)
	var waiting sync.WaitGroup
	for range r.IntN(4) {
		n := f.grow(c.event.Payload.Number)
		if n == 0 {
			break
		}
		receipt, err := runtime.Publish(ctx, bus, PlacedType, OrderPlaced{OrderID: f.key(r), Number: n}, runtime.Immediately())
		if err != nil {
			return err
		}
		switch r.IntN(8) {
		case 0: // it is on its own
		case 1:
			waiting.Go(func() { f.wait(ctx, c, n, receipt) })
		case 2:
			short, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(2*time.Second))))
			f.wait(short, c, n, receipt)
			cancel()
		default:
			if err := f.wait(ctx, c, n, receipt); err != nil {
				return err
			}
		}
		f.pause(r, time.Second)
	}
	waiting.Wait()
	switch r.IntN(20) {
	case 0, 1, 2:
		return ErrBoom
	case 3:
		panic(ErrBoom)
	case 4:
		goruntime.Goexit()
	case 5:
		time.Sleep(c.sub.timeout + 3*time.Second)
	}
	return nil
}

// wait waits for an event in a handler.
func (f *forest) wait(ctx context.Context, c *treeCall, n int, receipt *runtime.Receipt) error {
	f.mu.Lock()
	c.waiting++
	f.tell(c, "waits for", n)
	if f.life == c.life {
		f.waits[n]++
		f.awaited[n] = time.Now().Add(farAway)
	}
	f.counts["waits"]++
	f.mu.Unlock()
	_, err := receipt.Wait(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.life == c.life {
		if f.waits[n]--; f.waits[n] == 0 {
			f.awaited[n] = time.Now()
		}
	}
	c.waiting--
	f.tell(c, "has waited for", n, err, ctx.Err())
	switch {
	case err == nil:
		f.counts["waited"]++
	case errors.As(err, new(*runtime.WaitCycleError)):
		f.Errorf("%v: %v", c, err)
	default:
		f.counts["gave up"]++
	}
	c.forced = c.forced || ctx.Err() != nil
	if f.life == c.life && c.waiting == 0 {
		f.resume(c)
	}
	return err
}

// begin checks a call that begins.
func (f *forest) begin(c *treeCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts["calls"]++
	if f.life != c.life { // the process is as good as dead
		return
	}
	if f.seen[c.String()] {
		f.Errorf("%v was called twice", c)
	}
	f.seen[c.String()] = true
	until, awaited := f.awaited[c.event.Payload.Number]
	awaited = awaited && !until.Before(time.Now())
	lent := 0
	for other := range f.calls {
		if other.sub != c.sub || other.gone() || other.waiting == 0 {
			continue
		}
		lent++
		if !awaited && f.keyed(c.sub) && other.event.Payload.OrderID == c.event.Payload.OrderID {
			f.Errorf("%v begins, which nobody waits for, with the key of %v, which waits", c, other)
		}
	}
	if !awaited && c.sub.concurrency == 1 && lent > 0 {
		f.Errorf("%v begins, which nobody waits for, in the place of a handler that waits", c)
	}
	if awaited && lent > 0 {
		f.counts["guests"]++
	}
	f.calls[c] = true
	f.tell(c, "begins", awaited)
	f.resume(c)
}

// keyed tells whether a subscription keeps the order within keys.
func (f *forest) keyed(s *treeSubscription) bool { return s.concurrency > 1 || s.strict }

// gone tells whether a call counts no more: its time is up.
func (c *treeCall) gone() bool { return !time.Now().Before(c.deadline) }

// resume checks that a call may run that begins, or has waited.
func (f *forest) resume(c *treeCall) {
	if c.gone() || c.forced {
		return
	}
	running := 0
	for other := range f.calls {
		if other.sub != c.sub || other.gone() || other.forced || other.waiting > 0 {
			continue
		}
		running++
		if other != c && f.keyed(c.sub) && other.event.Payload.OrderID == c.event.Payload.OrderID {
			f.Errorf("%v runs beside %v of the same key\n%s", c, other, f.story(c.sub, c.event.Payload.OrderID))
		}
	}
	if running > c.sub.concurrency {
		f.Errorf("with %v %d handlers run at once: %v", c, running, f.calls)
	}
}

func (f *forest) end(c *treeCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.calls, c)
	f.tell(c, "ends")
}

// settled checks that no handler is left.
func (f *forest) settled() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.calls) > 0 {
		f.Errorf("in the end these handlers run: %v", f.calls)
	}
}

// storyLine is something that a call did.
type storyLine struct {
	at   time.Time
	call *treeCall
	what string
}

// tell adds to the story, for a test that fails.
func (f *forest) tell(c *treeCall, what ...any) {
	f.events = append(f.events, storyLine{time.Now(), c, fmt.Sprintln(what...)})
}

// story returns what has happened lately in a subscription, with a key.
func (f *forest) story(s *treeSubscription, key string) (story string) {
	for _, line := range f.events[max(0, len(f.events)-400):] {
		if line.call.sub == s && line.call.event.Payload.OrderID == key {
			story += fmt.Sprintf("%s %v until %s %s", line.at.Format("05.000000"), line.call, line.call.deadline.Format("05.000"), line.what)
		}
	}
	return story
}

// String names the call.
func (c *treeCall) String() string {
	return fmt.Sprintf("%d.%d in %s", c.event.Payload.Number, c.event.Attempt, c.sub.name)
}
