package systest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// The model test draws a life of a bus from a seed: publishing in all ways,
// handlers that succeed and fail in all ways, subscriptions that come and go,
// pauses, dead letters that are retried and purged, orderly restarts, kills, and
// steps of the clock. Beside the bus stands a model of what it promises
// (modelstate_test.go). The model follows every execution (modelrun_test.go) and fails
// the test when one must not happen; in the end the file is compared with the model
// (modelaudit_test.go). Time is virtual.
//
// A failure names its seed, and a run of that seed says what it does. The seed
// decides all but the order of what happens at the same instant, so a mistake in
// that may need some runs to show again:
//
//	go test ./runtime/internal/systest -run TestTheBusDoesWhatItsModelDoes -model.seed 4711 -v -count 20
//	go test ./runtime/internal/systest -run TestTheBusDoesWhatItsModelDoes -model.rounds 5000 -timeout 1h
var (
	modelSeed   = flag.Uint64("model.seed", 0, "run the model test with this seed only")
	modelRounds = short.Flag("model.rounds", 25, 3, "how many seeds the model test runs")
)

// modelSteps is how many operations a round has before it is brought to rest.
const modelSteps = 60

func TestTheBusDoesWhatItsModelDoes(t *testing.T) {
	first, rounds := uint64(1), modelRounds.N()
	if *modelSeed != 0 {
		first, rounds = *modelSeed, 1
	}
	t.Logf("%d rounds from seed %d", rounds, first)
	total := map[string]int{}
	for i := range uint64(rounds) {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("this was seed %d: go test ./runtime/internal/systest -run %s -model.seed %d", first+i, t.Name(), first+i)
				}
			}()
			w := newWorld(t, first+i)
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
	model    *model
	bus      *Fixture
	attached map[string]*attachment // by name, on the bus of now
	receipts []sent                 // of the bus of now
	keys     map[string]remembered  // idempotency keys
	number   uint64                 // of the last event
	counts   map[string]int         // of operations, for the log
}

// sent is an event and its receipt.
type sent struct {
	*modelEvent
	*runtime.Receipt
}

// remembered is the first event of an idempotency key.
type remembered struct {
	*modelEvent
	expires time.Time
}

const modelDedupeWindow = 20 * time.Second

func newWorld(t *testing.T, seed uint64) *world {
	random := rand.New(rand.NewPCG(seed, 0))
	return &world{
		T: t, Rand: random, model: newModel(t, seed, random),
		keys: map[string]remembered{}, counts: map[string]int{},
	}
}

// live runs one round.
func (w *world) live() {
	defer w.model.end()
	w.open(filepath.Join(w.TempDir(), "events.db"))
	operations := []struct {
		weight int
		name   string
		do     func()
	}{
		{12, "publish", w.publishOne}, {4, "batch", w.publishBatch}, {4, "burst", w.publishBurst},
		{4, "delay", w.publishDelayed}, {5, "dedupe", w.publishOnce},
		{3, "subscribe", w.subscribeSome}, {2, "unsubscribe", w.unsubscribe},
		{3, "redrive", w.redrive}, {1, "purge", w.purge}, {2, "audit", w.auditLetters},
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
}

// finish brings everything to rest, with handlers that only succeed, and
// compares the file with the model.
func (w *world) finish() {
	w.model.heal()
	for _, s := range w.model.subscriptions {
		if w.attached[s.name] == nil && s.exists {
			w.subscribe(s)
		}
	}
	w.waitIdle()
	w.bus.Stop()
	synctest.Wait() // handlers that were left behind
	w.auditLetters()
	w.auditFile()
}

// rest lets time pass, or not.
func (w *world) rest() {
	switch w.IntN(4) {
	case 0:
	case 1:
		time.Sleep(time.Duration(w.IntN(10_000)) * time.Microsecond) // within the moment until a success is written
	case 2:
		time.Sleep(time.Duration(w.IntN(300_000)) * time.Microsecond)
	case 3:
		time.Sleep(time.Duration(w.IntN(3_000_000)) * time.Microsecond)
	}
}

// open begins a life of the bus on a file.
func (w *world) open(path string) {
	opts := []runtime.Option{runtime.WithDedupeWindow(modelDedupeWindow)}
	if w.IntN(4) > 0 {
		opts = append(opts, runtime.WithDurability(runtime.Normal)) // much faster, and the same here
	}
	w.bus = SQLite.Reopen(w.T, path, opts...)
	w.attached, w.receipts = map[string]*attachment{}, nil
	for _, s := range w.model.subscriptions {
		if !s.late && w.IntN(5) > 0 {
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
	if got := w.bus.Stats().Recovery.Interrupted; got != w.model.interrupted {
		w.Errorf("Start found %d interrupted deliveries, want %d", got, w.model.interrupted)
	}
	w.model.interrupted = 0
}

// subscribe attaches a handler to a name.
func (w *world) subscribe(s *modelSubscription) {
	synctest.Wait() // a new name is made before or after an event, not at the same time
	at := w.model.attach(s, w.bus.Bus)
	var err error
	if at.Subscription, err = s.subscribe(w.bus.Bus, at.handle, s.options()...); err != nil {
		w.Fatal(err)
	}
	w.attached[s.name] = at
}

func (w *world) subscribeSome() {
	for _, s := range w.model.subscriptions {
		if w.attached[s.name] == nil && w.IntN(2) == 0 {
			w.subscribe(s)
		}
	}
}

func (w *world) unsubscribe() {
	for _, s := range w.model.subscriptions { // in their order, so that the seed decides
		if at := w.attached[s.name]; at != nil && w.IntN(4) == 0 {
			delete(w.attached, s.name)
			ctx, cancel := w.patience(at)
			defer cancel()
			if err := at.Unsubscribe(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				w.Errorf("unsubscribing: %v", err)
			}
		}
	}
}

func (w *world) trace(format string, args ...any) { w.model.trace(format, args...) }

// trace says what happens, when one seed is looked at.
func (m *model) trace(format string, args ...any) {
	if *modelSeed != 0 {
		m.t.Logf("%v "+format, append([]any{time.Now().Format("05.000000")}, args...)...)
	}
}

// patience draws how long running handlers may go on.
func (w *world) patience(all ...*attachment) (context.Context, context.CancelFunc) {
	patience := time.Hour
	if w.IntN(2) == 0 {
		patience = time.Duration(w.IntN(500_000)) * time.Microsecond
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

// stepClock moves the wall clock while nobody uses the file, now and then.
// Virtual time has one clock only, so it is the file that is moved against it.
func (w *world) stepClock(path string) {
	if w.IntN(2) == 0 {
		return
	}
	w.counts["clock step"]++
	step := time.Duration(w.IntN(20_000_000)-10_000_000) * time.Microsecond
	w.trace("the clock is set forward by %v", step)
	Must(w.T, execFile(path, fmt.Sprintf(`
		UPDATE busgen_deliveries SET due_at = max(1, due_at - %d) WHERE state = 'waiting' AND due_at > 0;
		UPDATE busgen_log SET due_at = max(1, due_at - %[1]d) WHERE due_at IS NOT NULL`, step.Microseconds())))
	// Nothing was written in the future: the next bus knows by that how far the
	// clock was set back at least, and lets retries follow.
	written, err := strconv.ParseInt(queryFile(w.T, path, "SELECT coalesce(max(due_at - wait), 0) FROM busgen_deliveries WHERE state = 'waiting'"), 10, 64)
	Must(w.T, err)
	back := time.UnixMicro(written).Sub(time.Now())
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
	path := filepath.Join(w.TempDir(), "events.db")
	for _, suffix := range []string{"", "-wal", "-claims"} {
		content, err := os.ReadFile(w.bus.Path + suffix)
		Must(w.T, err)
		Must(w.T, os.WriteFile(path+suffix, content, 0o600))
	}
	w.model.kill(w.bus.Bus)
	w.bus.Stop()
	w.rest()
	w.stepClock(path)
	w.open(path)
}
