package conformance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/retry"
)

var (
	aliveRounds = short.Flag("alive.rounds", 200, 20, "how many logs are tried, each with another seed")
	aliveSeed   = flag.Uint64("alive.seed", 0, "the first seed")
)

// life is a log, subscriptions to it, and what happens to them. All of it follows from a seed, and little is held in
// memory, so that a short log has many pages.
type life struct {
	*Fixture
	*rand.Rand
	env       *Env
	catalogue *runtime.Catalogue
	placed    *runtime.EventType[OrderPlaced]
	all       []string // limits that all subscriptions need
	subs      []lifeSub
	other     *runtime.Bus // another process
	keyed     bool
	events    int
	trouble   int           // seven of so many events do not succeed at once; 0 for none
	stopped   time.Duration // in which something said wait

	mu      sync.Mutex
	calls   map[lifeCall]int
	handled map[lifeCall]bool // or discarded
	outage  bool              // everything fails for good
	called  int
	worst   time.Duration // what handlers, retries and snoozes may take if nothing runs beside anything else
}

type lifeSub struct {
	name  string
	batch bool
	slow  time.Duration // what its handler takes
	says  string
	opts  []runtime.SubscribeOption
}

type lifeCall struct {
	sub    string
	number int
}

const (
	lifeAttempts = 3
	lifeDelay    = time.Second // before the second attempt; it doubles
	lifeOpen     = 5 * time.Second
	lifeLongest  = time.Minute // more than the longest snooze, delay, breaker or wait of a batch
)

func (env *Env) newLife(t *testing.T, seed uint64) *life {
	l := &life{Rand: rand.New(rand.NewPCG(seed, 39)), env: env, calls: map[lifeCall]int{}, handled: map[lifeCall]bool{}}
	window := []int{4, 8, 8, 16, 64, 256}[l.IntN(6)]
	page := []int{4, 8, 16, 64, 1024}[l.IntN(5)]
	env.hold(t, window, []int{1, 8, 64, 8192}[l.IntN(4)], page)
	l.events = []int{1 + l.IntN(20), 5 * min(page, 64), window * (1 + l.IntN(12)), 100 + l.IntN(400)}[l.IntN(4)]
	if l.IntN(50) == 0 {
		l.events = 2000 + l.IntN(3000)
	}
	settings := Within(30*time.Second, Exact())
	if l.IntN(3) > 0 {
		settings.Breaker.Off = true
	} else {
		settings.Breaker = settings.Breaker.With(breaker.OpenFor(lifeOpen))
	}
	spec := runtime.Spec[OrderPlaced]{
		Name: "order.placed", Settings: settings,
		LimitKeys: map[string]func(OrderPlaced) string{"weight": func(p OrderPlaced) string { return fmt.Sprint(p.Weight) }},
	}
	if l.keyed = l.IntN(2) == 0; l.keyed {
		spec.PartitionBy = func(p OrderPlaced) string { return p.OrderID }
	}
	l.placed = runtime.Define(spec)
	l.trouble = []int{0, 0, 300, 40}[l.IntN(4)]
	l.catalogue = runtime.NewCatalogue(l.placed, UserType).WithLimits(
		declare.Limit{Name: "scales", AtOnce: 1 + l.IntN(3)}, declare.Limit{Name: "all", AtOnce: 1 + l.IntN(3)})
	if l.IntN(5) == 0 {
		l.all = []string{"all"}
	}
	for i := range 1 + l.IntN(2) {
		l.subs = append(l.subs, l.newSub(fmt.Sprint("sub", i)))
	}
	t.Logf("%d events, window %d, page %d, keys %v, breaker off %v, trouble %d, subscriptions %+v", l.events, window, page, l.keyed, settings.Breaker.Off, l.trouble, l.subs)
	l.open(t, env.Target(t))
	return l
}

// newSub makes up a subscription.
func (l *life) newSub(name string) lifeSub {
	s := lifeSub{name: name, batch: l.IntN(3) == 0, slow: []time.Duration{0, 0, time.Microsecond * 200, 30 * time.Millisecond}[l.IntN(4)]}
	concurrency := []int{1, 2, 4, 8, 64}[l.IntN(5)]
	s.says = fmt.Sprint("concurrency ", concurrency)
	s.opts = []runtime.SubscribeOption{
		runtime.FromBeginning(), runtime.WithConcurrency(concurrency),
		runtime.WithRetry(retry.MaxAttempts(lifeAttempts), retry.BaseDelay(lifeDelay), retry.Jitter(0)),
	}
	if l.IntN(2) == 0 && (l.keyed || !s.batch) {
		s.says += ", strict"
		s.opts = append(s.opts, runtime.WithStrictOrder())
	}
	if s.batch {
		size, wait := 1+l.IntN(200), time.Duration(l.IntN(5))*time.Second
		s.says += fmt.Sprintf(", batches of %d within %v", size, wait)
		s.opts = append(s.opts, runtime.WithBatch(size, wait))
	}
	what := l.IntN(6)
	s.says += fmt.Sprint(", limits ", what)
	needs := slices.Clone(l.all)
	switch {
	case what == 0:
		needs = append(needs, "scales")
	case what == 1 && !s.batch:
		needs = append(needs, "scales by weight")
	}
	if len(needs) > 0 {
		s.opts = append(s.opts, limitedBy(needs...))
	}
	return s
}

// open begins a life of the bus.
func (l *life) open(t *testing.T, target string) {
	t.Helper()
	l.Fixture = l.env.ReopenWith(t, target, l.catalogue)
	other, err := l.env.OpenBus(t.Context(), target, l.catalogue, runtime.WithoutSchedules())
	Must(t, err)
	t.Cleanup(func() { other.Shutdown(context.Background()) })
	l.other = other
	for _, s := range l.subs {
		if s.batch {
			_, err = runtime.SubscribeBatch(l.Bus, l.placed, s.name, func(_ context.Context, all []runtime.Event[OrderPlaced]) error {
				time.Sleep(s.slow)
				var failed runtime.BatchError
				for i, e := range all {
					failed.Set(i, l.handle(s, e.Payload.Number))
				}
				return failed.Err()
			}, s.opts...)
		} else {
			_, err = runtime.Subscribe(l.Bus, l.placed, s.name, func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				time.Sleep(s.slow)
				return l.handle(s, e.Payload.Number)
			}, s.opts...)
		}
		Must(t, err)
	}
	l.MustStart()
}

// handle is what a handler does. Most events succeed at once: where something always fails or is about to be
// retried, there is always a signal, too.
func (l *life) handle(s lifeSub, number int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.worst += s.slow
	l.called++
	if l.outage {
		return runtime.Permanent(ErrBoom)
	}
	call := lifeCall{s.name, number}
	l.calls[call]++
	r := rand.New(rand.NewPCG(uint64(number), uint64(len(s.name)+int(s.slow))))
	fails, n := 0, 1000
	if l.trouble > 0 {
		n = r.IntN(l.trouble)
	}
	switch {
	case n < 4:
		fails = 1 + n%(lifeAttempts+1) // with as many as there are attempts it is a dead letter first
	case n == 4 && l.calls[call] == 1:
		l.worst += 10 * time.Second
		return runtime.Snooze(10 * time.Second)
	case n == 5 && l.calls[call] == 1:
		return runtime.Permanent(ErrBoom)
	case n == 6:
		l.handled[call] = true
		return runtime.Discard("not wanted")
	}
	if l.calls[call] <= fails {
		l.worst += lifeDelay<<(lifeAttempts-2) + lifeOpen
		return ErrBoom
	}
	l.handled[call] = true
	return nil
}

// publish stores events, in one of the ways that there are.
func (l *life) publish(t *testing.T, from, to int) {
	t.Helper()
	all := make([]OrderPlaced, 0, to-from)
	keys := 1 + l.IntN(40)
	for n := from; n < to; n++ {
		all = append(all, OrderPlaced{Number: n, OrderID: fmt.Sprint("K", l.IntN(keys)), Weight: float64(1 + n%3)})
	}
	var opts []runtime.PublishOption
	how := "as usual"
	switch l.IntN(8) {
	case 0:
		how = "delayed"
		opts = append(opts, runtime.WithDelay(time.Second))
	case 1:
		how = "with a priority"
		opts = append(opts, runtime.WithPriority([]runtime.Priority{runtime.PriorityLow, runtime.PriorityHigh, runtime.PriorityCritical}[l.IntN(3)]))
	}
	var err error
	way := l.IntN(4)
	t.Logf("%v: publish %d to %d, way %d, %s", time.Now().Format("05.000"), from, to, way, how)
	switch way {
	case 0:
		_, err = runtime.PublishBatch(t.Context(), l.other, l.placed, all, opts...)
	case 1:
		err = runtime.Transact(t.Context(), l.Bus, func(tx runtime.Tx) error {
			_, err := runtime.PublishBatch(t.Context(), tx, l.placed, all, opts...)
			return err
		})
		if errors.Is(err, errors.ErrUnsupported) {
			_, err = runtime.PublishBatch(t.Context(), l.Bus, l.placed, all, opts...)
		}
	default:
		_, err = runtime.PublishBatch(t.Context(), l.Bus, l.placed, all, opts...)
	}
	Must(t, err)
}

// step lets something happen that is no publish.
func (l *life) step(t *testing.T) {
	ctx, sub := t.Context(), l.subs[l.IntN(len(l.subs))]
	pause := time.Duration(l.IntN(20)) * time.Second / 4
	what := l.IntN(12)
	t.Logf("%v: step %d of %s, %v", time.Now().Format("05.000"), what, sub.name, pause)
	switch what {
	case 0:
		Must(t, l.PauseSubscription(ctx, sub.name, ""))
		l.wait(pause)
		Must(t, l.ResumeSubscription(ctx, sub.name))
	case 1:
		Must(t, l.PauseTypes(ctx, "order.*", ""))
		l.wait(pause)
		Must(t, l.ResumeTypes(ctx, "order.*"))
	case 2:
		_, err := l.Replay(ctx, sub.name, event.ReplayFilter{})
		Must(t, err)
	case 3:
		target := l.Path
		Must(t, l.other.Shutdown(context.Background()))
		l.Stop()
		l.open(t, target)
	case 4:
		Must(t, l.other.Shutdown(context.Background()))
		l.open(t, l.Killed())
	case 5, 6:
		l.mu.Lock()
		l.outage = true
		l.mu.Unlock()
		l.wait(pause)
		l.mu.Lock()
		l.outage = false
		l.mu.Unlock()
		l.redrive(t)
	default:
		l.wait(time.Duration(l.IntN(3000)) * time.Millisecond)
	}
}

func (l *life) wait(d time.Duration) {
	time.Sleep(d)
	l.stopped += d
}

// redrive retries all dead letters, as an operator does.
func (l *life) redrive(t *testing.T) {
	t.Helper()
	file, err := l.env.OpenFile(t.Context(), l.Path)
	Must(t, err)
	defer file.Close()
	_, err = file.Retry(t.Context(), inspect.Selection{})
	Must(t, err)
}

// becomesIdle fails the test unless all is settled within the time that the policies allow.
func (l *life) becomesIdle(t *testing.T, when string) {
	t.Helper()
	for began, before := time.Now(), -1; ; {
		l.mu.Lock()
		called, allowed := l.called, l.worst+l.stopped+2*lifeLongest // a batch may wait once more for each attempt of the last event
		l.mu.Unlock()
		if called == before || time.Since(began) > allowed {
			for _, s := range l.Stats().Subscriptions {
				t.Logf("%s: %d wait, breaker %s, %+v", s.Name, s.Limited, s.Breaker.State, s.Counts)
			}
			t.Fatalf("%s it is not idle after %v, of at most %v; nothing was begun for %v: %v", when, time.Since(began), allowed, lifeLongest, called == before)
		}
		before = called
		limited, cancel := context.WithTimeout(t.Context(), lifeLongest)
		err := l.WaitIdle(limited)
		cancel()
		if err == nil {
			return
		}
	}
}

// TestEveryLogIsHandledToItsEndWithoutAnotherPublish is about P11: whatever the log is like, and whatever has happened,
// nothing needs another publish, a restart or the watch of stalls to go on.
func (env *Env) TestEveryLogIsHandledToItsEndWithoutAnotherPublish(t *testing.T) {
	dispatch.WatchStalls = false
	defer func() { dispatch.WatchStalls = true }()
	for i := range aliveRounds.N() {
		seed := *aliveSeed + uint64(i)
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { env.live(t, seed) }) {
			return
		}
	}
}

func (env *Env) live(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		l := env.newLife(t, seed)
		if l.IntN(2) == 0 { // a backlog from before
			l.Stop()
			Must(t, l.other.Shutdown(context.Background()))
			l.open(t, l.Path)
		}
		for published := 0; published < l.events; {
			n := min(l.events-published, 1+l.IntN(l.events))
			l.publish(t, published, published+n)
			published += n
			if l.IntN(2) == 0 {
				l.step(t)
			}
		}
		for range l.IntN(4) {
			l.step(t)
		}
		l.becomesIdle(t, "in the end")
		for range 3 { // an event can be a dead letter of an outage first, and then of its own
			l.redrive(t)
			l.becomesIdle(t, "after a retry of all dead letters")
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, s := range l.subs {
			for number := range l.events {
				if !l.handled[lifeCall{s.name, number}] {
					lags, err := l.Lag(t.Context())
					t.Fatalf("%s has not handled event %d of %d: it was called %d times; %+v, %+v, %v",
						s.name, number, l.events, l.calls[lifeCall{s.name, number}], l.Stats().Subscriptions, lags, err)
				}
			}
		}
	})
}
