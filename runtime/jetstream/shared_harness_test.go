package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// sharing is a bus whose processes share a subscription. It knows which handlers have run
// where, and whether the order of each key was kept.
type sharing struct {
	t      *testing.T
	server *servertest.Server
	takes  func(n int) time.Duration // of the handler of an event
	stuck  func(p *sharer) bool      // its handlers do not return; nil for none
	fails  func(n, attempt int) bool // nil for never
	opts   []jetstream.Option        // of processes
	log    slog.Handler              // of processes

	ending sync.WaitGroup // processes that were killed

	mu       sync.Mutex
	started  int
	keys     map[string]*keyHistory
	handled  int
	problems []string
	repeats  int // of what a process had handled that died
	overlaps int // with a handler of a process that was cut off, before or after its takeover
	stale    int // handlers that began in such a process
}

// keyHistory is what has happened to the events of a key.
type keyHistory struct {
	published int
	done      map[int]*sharer // by number: who has handled it last
	running   map[*sharer]int // handlers
}

// sharer is a process.
type sharer struct {
	of      *sharing
	name    string
	bus     *runtime.Bus
	line    *servertest.Line
	unclean bool // it was cut off at some time, so that what it has handled may not be stored
	cutOff  bool // now, or it was a moment ago
	handled int
}

func newSharing(t *testing.T) *sharing {
	return &sharing{
		t: t, server: servertest.Start(t, t.TempDir()), keys: map[string]*keyHistory{},
		takes: func(int) time.Duration { return 10 * time.Millisecond },
		opts:  []jetstream.Option{jetstream.InMemory()}, log: slog.DiscardHandler,
	}
}

func (x *sharing) open() *sharer {
	x.mu.Lock()
	x.started++
	p := &sharer{of: x, name: fmt.Sprint("process ", x.started), line: x.server.Line()}
	x.mu.Unlock()
	through := jetstream.Through(func(string) (*nats.Conn, error) {
		return p.line.Connect(nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	})
	bus, err := runtime.Open(context.Background(), "nats://test/bus", conformance.Catalogue, runtime.WithLogger(slog.New(x.log)),
		jetstream.Engine(append(x.opts, through)...))
	if err != nil {
		x.t.Fatal(err)
	}
	p.bus = bus
	return p
}

// start starts a process that handles orders, so many at once.
func (x *sharing) start(concurrency int, opts ...runtime.SubscribeOption) *sharer {
	p := x.open()
	opts = append([]runtime.SubscribeOption{runtime.FromBeginning(), runtime.WithConcurrency(concurrency)}, opts...)
	if _, err := runtime.Subscribe(p.bus, conformance.PlacedType, "orders", p.handle, opts...); err != nil {
		x.t.Fatal(err)
	}
	if err := p.bus.Start(context.Background()); err != nil {
		x.t.Fatal(err)
	}
	return p
}

func (x *sharing) key(name string) *keyHistory {
	k := x.keys[name]
	if k == nil {
		k = &keyHistory{done: map[int]*sharer{}, running: map[*sharer]int{}}
		x.keys[name] = k
	}
	return k
}

func (x *sharing) problem(format string, args ...any) {
	x.problems = append(x.problems, fmt.Sprintf(format, args...))
}

func (p *sharer) handle(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
	x, key, n := p.of, e.Payload.OrderID, e.Payload.Number
	x.mu.Lock()
	k := x.key(key)
	switch before := k.done[n]; {
	case p.cutOff:
		x.stale++
	case before != nil && !before.unclean:
		x.problem("%s: event %d was handled by %s, and comes again in %s", key, n, before.name, p.name)
	case before != nil:
		x.repeats++
	case n > 0 && k.done[n-1] == nil:
		x.problem("%s: event %d begins before %d has ended", key, n, n-1)
	}
	for other, handlers := range k.running {
		switch {
		case handlers == 0:
		case p.cutOff || other.cutOff:
			x.overlaps++
		default:
			x.problem("%s: event %d begins in %s while %s handles another", key, n, p.name, other.name)
		}
	}
	k.running[p]++
	stuck := x.stuck != nil && x.stuck(p)
	x.mu.Unlock()
	if stuck {
		<-ctx.Done()
	}
	time.Sleep(x.takes(n))
	x.mu.Lock()
	defer x.mu.Unlock()
	if k.running[p]--; stuck {
		return ctx.Err()
	}
	if x.fails != nil && x.fails(n, e.Attempt) {
		return errors.New("not yet")
	}
	if k.done[n] == nil {
		x.handled++
	}
	if before := k.done[n]; before == nil || before.unclean { // what is stored stays so
		k.done[n] = p
	}
	p.handled++
	return nil
}

// kill ends a process in the middle of its work.
func (p *sharer) kill() {
	p.of.mu.Lock()
	p.unclean, p.cutOff = true, true
	p.of.mu.Unlock()
	p.line.Cut()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p.of.ending.Go(func() { p.bus.Shutdown(ctx) }) // what it says reaches nobody
}

// freeze stops what a process says and hears for a while. It ends afterwards.
func (p *sharer) freeze(d time.Duration) {
	p.of.mu.Lock()
	p.unclean, p.cutOff = true, true
	p.of.mu.Unlock()
	p.line.Freeze()
	go func() {
		time.Sleep(d)
		p.line.Thaw()
		time.Sleep(10 * time.Second)
		p.kill()
	}()
}

// shutdown ends a process orderly.
func (p *sharer) shutdown() {
	if err := p.bus.Shutdown(context.Background()); err != nil {
		p.of.t.Error(err)
	}
}

// publisher is a process that only publishes.
func (x *sharing) publisher() (publish func(key string), end func()) {
	p := x.open()
	publish = func(key string) {
		x.mu.Lock()
		k := x.key(key)
		n := k.published
		k.published++
		x.mu.Unlock()
		if _, err := runtime.Publish(context.Background(), p.bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: key, Number: n}); err != nil {
			x.t.Error(err)
		}
	}
	return publish, p.shutdown
}

// wait waits until everything is handled.
func (x *sharing) wait(patience time.Duration) {
	until := time.Now().Add(patience)
	for {
		x.mu.Lock()
		published := 0
		for _, k := range x.keys {
			published += k.published
		}
		handled := x.handled
		x.mu.Unlock()
		if handled == published {
			return
		}
		if time.Now().After(until) {
			x.t.Errorf("%d of %d events are handled", handled, published)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (x *sharing) report() {
	x.ending.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, problem := range x.problems {
		if i == 10 {
			x.t.Error("and", len(x.problems)-i, "more")
			break
		}
		x.t.Error(problem)
	}
	x.t.Log(x.handled, "handled; of processes that were cut off:", x.repeats, "repeats,", x.overlaps, "overlaps,", x.stale, "stale beginnings")
}

// owners returns how many parts of the subscription each process has, the largest first, and
// how many are free. It reads the stream, and shares no code with the engine.
func (x *sharing) owners() (shares []int, free int, divided bool) {
	nc, err := x.server.Connect()
	if err != nil {
		x.t.Fatal(err)
	}
	defer nc.Close()
	client, _ := js.New(nc)
	s, err := client.Stream(context.Background(), "bus")
	if err != nil {
		x.t.Fatal(err)
	}
	info, err := s.Info(context.Background(), js.WithSubjectFilter("bus.c.>"))
	if err != nil {
		x.t.Fatal(err)
	}
	by := map[string]int{}
	for subject := range info.State.Subjects {
		m, err := s.GetLastMsgForSubject(context.Background(), subject)
		if err != nil {
			x.t.Fatal(err)
		}
		var c struct {
			Owner   string `json:"owner"`
			Divided bool   `json:"divided"`
		}
		json.Unmarshal(m.Data, &c)
		switch isPart := strings.Count(subject, ".") == 3; {
		case !isPart:
			divided = c.Divided
		case c.Owner == "":
			free++
		default:
			by[c.Owner]++
		}
	}
	for _, n := range by {
		shares = append(shares, n)
	}
	slices.Sort(shares)
	slices.Reverse(shares)
	return shares, free, divided
}

func (x *sharing) wantOwners(want ...int) {
	x.t.Helper()
	if shares, free, divided := x.owners(); !slices.Equal(shares, want) || free > 0 || !divided {
		x.t.Errorf("the processes have %v parts, and %d are free (divided: %v), want %v", shares, free, divided, want)
	}
}
