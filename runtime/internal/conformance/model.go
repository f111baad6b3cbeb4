package conformance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
)

// The model test draws a life of a bus from a seed: publishing in all ways, handlers, groups and batches that succeed,
// fail, snooze and discard in all ways, subscriptions that come and go, pauses, cancels and discards and their undo, dead
// letters that are retried and purged, orderly restarts, kills, and steps of the clock. Beside the bus stands a model of
// what docs/semantics.md promises (model_state.go). The model follows every execution (model_run.go) and fails the test
// when one must not happen; in the end what the log says is compared with the model (model_audit.go). Time is virtual.
//
// A failure names its seed. The seed decides what happens and when: operations, the ends of handlers and what they do
// are at instants of their own, so that little is left to the order in which goroutines have their turns. With -v and a
// seed the test says what happens, and a digest of it, which two runs of a seed can be compared by:
//
//	go test ./runtime -run Conformance/TestTheBusDoesWhatItsModelDoes -model.seed 4711 -v
//	go test ./runtime -run Conformance/TestTheBusDoesWhatItsModelDoes -model.rounds 5000 -timeout 1h
//
// In runtime/jetstream the same command runs the same lives on the other engine.
var (
	modelSeed   = flag.Uint64("model.seed", 0, "run the model test with this seed only")
	modelFirst  = flag.Uint64("model.first", 1, "the first seed of the model test")
	modelRounds = short.Flag("model.rounds", 4, 4, "how many seeds the model test runs")
)

// modelSteps is how many operations a round has before it is brought to rest.
const modelSteps = 60

func (env *Env) TestTheBusDoesWhatItsModelDoes(t *testing.T) {
	first, rounds := *modelFirst, modelRounds.N()
	if *modelSeed != 0 {
		first, rounds = *modelSeed, 1
	}
	t.Logf("%d rounds from seed %d", rounds, first)
	total := map[string]int{}
	for i := range uint64(rounds) {
		if t.Failed() {
			break // one seed is enough to begin with
		}
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Errorf("this was seed %d: run it with -model.seed %d -v", first+i, first+i)
				}
			}()
			w := newWorld(t, env, first+i)
			w.live()
			for what, n := range w.counts {
				total[what] += n
			}
		})
	}
	t.Logf("operations and events: %v", total)
}

// world is a bus with everything that happens to it.
type world struct {
	*testing.T
	*rand.Rand
	env      *Env
	model    *model
	bus      *Fixture
	attached map[string]*attachment // by name, on the bus of now
	receipts []modelReceipt         // of the bus of now
	keys     map[string]remembered  // idempotency keys
	number   uint64                 // of the last event
	counts   map[string]int         // of operations, for the log
}

// modelReceipt is an event and its receipt.
type modelReceipt struct {
	*modelEvent
	*runtime.Receipt
}

// remembered is the first event of an idempotency key.
type remembered struct {
	*modelEvent
	expires time.Time
}

const modelDedupeWindow = 20 * time.Second

func newWorld(t *testing.T, env *Env, seed uint64) *world {
	random := rand.New(rand.NewPCG(seed, 0))
	return &world{
		T: t, Rand: random, env: env, model: newModel(t, env, seed, random),
		keys: map[string]remembered{}, counts: map[string]int{},
	}
}

// live runs one round.
func (w *world) live() {
	defer w.model.end()
	w.open(w.env.Target(w.T))
	operations := []struct {
		weight int
		name   string
		do     func()
	}{
		{12, "publish", w.publishOne}, {4, "batch", w.publishBatch}, {4, "burst", w.publishBurst},
		{4, "delay", w.publishDelayed}, {5, "dedupe", w.publishOnce},
		{3, "subscribe", w.subscribeSome}, {2, "unsubscribe", w.unsubscribe},
		{3, "redrive", w.redrive}, {1, "purge", w.purge}, {2, "audit", w.auditLetters},
		{3, "cancel", w.cancel}, {3, "discard", w.discard}, {2, "discard letters", w.discardLetters}, {4, "undo", w.undo},
		{2, "pause", w.pauseSome}, {3, "resume", w.resumeSome},
		{2, "wait", w.waitForOne}, {1, "idle", w.waitIdle}, {1, "restart", w.restart}, {2, "kill", w.kill},
	}
	weights := 0
	for _, o := range operations {
		weights += o.weight
	}
	for range modelSteps {
		draw := w.IntN(weights)
		for _, o := range operations {
			if draw -= o.weight; draw < 0 {
				w.counts[o.name]++
				w.trace("%s", o.name)
				o.do()
				break
			}
		}
		w.rest()
		if w.Failed() {
			return
		}
	}
	w.finish()
	w.model.digestInstant()
	w.trace("the digest of this life is %x", w.model.digest.Sum64())
}

// finish brings everything to rest, with handlers that only succeed, and
// compares the log with the model.
func (w *world) finish() {
	w.model.heal()
	if s := w.model.named("group"); w.attached[s.name] == nil {
		w.restart() // members join a group before the bus starts
	}
	for _, s := range w.model.subscriptions {
		if w.attached[s.name] == nil && s.exists {
			w.subscribe(s)
		}
	}
	w.waitIdle()
	w.bus.Stop()
	synctest.Wait() // handlers that were left behind
	w.auditLetters()
	w.auditLog()
}

// rest lets time pass: never none, so that operations are at instants of their own.
func (w *world) rest() {
	time.Sleep(time.Duration(1+w.IntN([]int{400, 10_000, 300_000, 3_000_000}[w.IntN(4)]))*time.Microsecond + time.Nanosecond)
	synctest.Wait()
}

// open begins a life of the bus on a log.
func (w *world) open(target string) {
	opts := []runtime.Option{runtime.WithDedupeWindow(modelDedupeWindow)}
	if w.IntN(4) > 0 {
		opts = append(opts, runtime.WithDurability(runtime.Normal)) // much faster, and the same here
	}
	w.bus = w.env.Reopen(w.T, target, opts...)
	w.attached, w.receipts = map[string]*attachment{}, nil
	for _, s := range w.model.subscriptions {
		if !s.late && (w.IntN(5) > 0 || w.model.healthy) {
			w.subscribe(s)
		}
	}
	if w.IntN(2) == 0 {
		w.publishOne()
	}
	w.model.start(time.Now())
	w.bus.MustStart()
	if got, want := w.bus.Health().CrashLoop, w.model.waitsUntil(); !got.Equal(want) {
		w.Errorf("deliveries wait in a crash loop until %v, want %v", got, want)
	}
	if got, want := w.bus.Stats().Recovery.Interrupted, w.model.interrupted; got < want-w.model.fewer || got > want+w.model.more {
		w.Errorf("Start found %d interrupted deliveries, want %d (%d fewer or %d more)", got, want, w.model.fewer, w.model.more)
	}
	w.model.interrupted, w.model.fewer, w.model.more = 0, 0, 0
}

// subscribe attaches a handler to a name.
func (w *world) subscribe(s *modelSubscription) {
	synctest.Wait() // a new name is made before or after an event, not at the same time
	at := w.model.attach(s, w.bus.Bus)
	Must(w.T, s.subscribe(at, s.options()...))
	w.attached[s.name] = at
}

func (w *world) subscribeSome() {
	for _, s := range w.model.subscriptions {
		if w.attached[s.name] == nil && s.members == 0 && w.IntN(2) == 0 {
			w.subscribe(s)
		}
	}
}

func (w *world) unsubscribe() {
	for _, s := range w.model.subscriptions { // in their order, so that the seed decides
		if at := w.attached[s.name]; at != nil && s.members == 0 && w.IntN(4) == 0 {
			delete(w.attached, s.name)
			ctx, cancel := w.patience(at)
			defer cancel()
			if err := at.Unsubscribe(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				w.Errorf("unsubscribing: %v", err)
			}
		}
	}
}

func (w *world) trace(format string, args ...any) {
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	w.model.trace(format, args...)
}

// trace says what happens, when one seed is looked at. The caller holds mu.
func (m *model) trace(format string, args ...any) {
	if *modelSeed != 0 {
		if now := time.Now(); !now.Equal(m.instant) {
			m.digestInstant()
			m.instant = now
		}
		text := fmt.Sprintf("%v "+format, append([]any{time.Since(m.began)}, args...)...)
		m.happened = append(m.happened, text)
		m.t.Log(text)
	}
}

// digestInstant takes into the digest what has happened at one instant. Goroutines may have had their turns in any order.
func (m *model) digestInstant() {
	slices.Sort(m.happened)
	for _, text := range m.happened {
		fmt.Fprintln(m.digest, text)
	}
	m.happened = m.happened[:0]
}

// patience draws how long running handlers may go on.
func (w *world) patience(all ...*attachment) (context.Context, context.CancelFunc) {
	patience := time.Hour
	if w.IntN(2) == 0 {
		patience = time.Duration(1+w.IntN(500_000)) * time.Microsecond
	}
	for _, at := range all {
		w.model.interrupt(at, time.Now().Add(patience))
	}
	return context.WithTimeout(context.Background(), patience)
}

func (w *world) restart() {
	var all []*attachment
	for _, s := range w.model.subscriptions {
		if at := w.attached[s.name]; at != nil {
			all = append(all, at)
		}
	}
	ctx, cancel := w.patience(all...)
	defer cancel()
	if err := w.bus.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		w.Errorf("shutting down: %v", err)
	}
	w.model.shutDown()
	w.rest()
	w.stepClock(w.bus.Path)
	w.open(w.bus.Path)
}

// stepClock moves the wall clock while nobody uses the log, now and then.
// Virtual time has one clock only, so it is the log that is moved against it.
func (w *world) stepClock(target string) {
	step := time.Duration(w.IntN(20_000_000)-10_000_000) * time.Microsecond
	if w.IntN(2) == 0 || w.env.Earlier == nil {
		return
	}
	w.counts["clock step"]++
	w.trace("the clock is set forward by %v", step)
	// Nothing was written in the future: the next bus knows by that how far the
	// clock was set back at least, and lets retries follow.
	back := w.env.Earlier(w.T, target, step).Sub(time.Now())
	if back < 100*time.Millisecond {
		back = 0
	}
	w.model.stepClock(step, back)
}

// kill goes on with what a process leaves that is killed at this moment. The
// moment is one when everybody waits for the time to pass: handlers run, retries
// wait, and successes of the last milliseconds are not written.
func (w *world) kill() {
	synctest.Wait()
	if w.model.isUnclear(w.bus.Bus) {
		w.counts["no kill"]++
		return
	}
	target := w.env.Copy(w.T, w.bus.Path)
	w.model.kill(w.bus.Bus)
	w.bus.Stop()
	w.rest()
	w.stepClock(target)
	w.open(target)
}

// newDigest returns a hash of what happens.
var newDigest = fnv.New64a
