package runtime_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/dlq"
)

// The model test draws a life of a bus from a seed: publishing in all ways,
// handlers that succeed and fail in all ways, subscriptions that come and go,
// dead letters that are retried and purged, orderly restarts, and kills. Beside
// the bus stands a model of what it promises (modelstate_test.go) that is told
// what happens and objects to what must not; at the end the file is compared
// with it (modelaudit_test.go). Time is virtual. A step of the wall clock is not
// among the operations, because virtual time has only one clock.
//
// What it prints on failure names the seed:
//
//	go test ./runtime -run TestTheBusDoesWhatItsModelDoes -model.seed 4711 -v
//	go test ./runtime -run TestTheBusDoesWhatItsModelDoes -model.rounds 5000 -timeout 1h
var (
	modelSeed   = flag.Uint64("model.seed", 0, "run the model test with this seed only")
	modelRounds = flag.Int("model.rounds", 0, "how many seeds the model test runs (default 100, and 40 with -short)")
)

// modelSteps is how many operations a round has before it is brought to rest.
const modelSteps = 60

func TestTheBusDoesWhatItsModelDoes(t *testing.T) {
	rounds := *modelRounds
	if rounds == 0 && testing.Short() {
		rounds = 40
	} else if rounds == 0 {
		rounds = 100
	}
	first := uint64(time.Now().UnixNano())
	if *modelSeed != 0 {
		first, rounds = *modelSeed, 1
	}
	t.Logf("%d rounds from seed %d", rounds, first)
	total := map[string]int{}
	for i := range uint64(rounds) {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("this was seed %d: go test ./runtime -run %s -model.seed %d", first+i, t.Name(), first+i)
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
	bus      *fixture
	attached map[string]*attachment // by name, on the bus of now
	receipts []sent                 // of the bus of now
	keys     map[string]remembered  // idempotency keys
	number   uint64                 // of the last event
	counts   map[string]int         // of operations, for the log
	debug    []string
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
		w.pause()
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
	w.bus.stop()
	synctest.Wait() // handlers that were left behind
	w.auditLetters()
	w.auditFile()
}

// pause lets time pass, or not.
func (w *world) pause() {
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
	w.bus = reopen(w.T, path, opts...)
	w.attached, w.receipts = map[string]*attachment{}, nil
	for _, s := range w.model.subscriptions {
		if !s.late && w.IntN(5) > 0 {
			w.subscribe(s)
		}
	}
	if w.IntN(2) == 0 {
		w.publishOne()
	}
	w.bus.start()
	if got := w.bus.Stats().Recovery.Interrupted; got != w.model.interrupted {
		w.Errorf("Start found %d interrupted deliveries, want %d", got, w.model.interrupted)
	}
	if w.Failed() {
		for _, d := range w.debug {
			w.Log(d)
		}
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

// trace says what happens, when one seed is looked at.
func (w *world) trace(format string, args ...any) {
	if *modelSeed != 0 {
		w.Logf("%v "+format, append([]any{time.Now().Format("05.000000")}, args...)...)
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
	w.debug = nil
	w.rowsDebug(w.bus.path)
	for _, x := range w.model.lapses {
		w.note("%s", x)
	}
	w.pause()
	w.open(w.bus.path)
}

// kill goes on with what a process leaves that is killed at this moment. The
// moment is one when everybody waits for the time to pass: handlers run, retries
// wait, and successes of the last milliseconds are not written.
func (w *world) kill() {
	synctest.Wait()
	path := filepath.Join(w.TempDir(), "events.db")
	for _, suffix := range []string{"", "-wal", "-claims"} {
		content, err := os.ReadFile(w.bus.path + suffix)
		must(w.T, err)
		must(w.T, os.WriteFile(path+suffix, content, 0o600))
	}
	w.debug = nil
	w.rowsDebug(path)
	w.model.kill()
	w.bus.stop()
	w.pause()
	w.open(path)
}

// next draws an event that was not published before.
func (w *world) next() *modelEvent {
	w.number++
	e := &modelEvent{number: w.number, typ: []string{"order.placed", "order.placed", "order.paid", "user.created"}[w.IntN(4)]}
	if e.typ == "order.placed" {
		e.key = string(rune('A' + w.IntN(4)))
	}
	return e
}

// publish publishes an event and notes it if it is stored.
func (w *world) publish(e *modelEvent, opts ...runtime.PublishOption) {
	w.model.add(e)
	receipt, err := e.publish(context.Background(), w.bus.Bus, opts...)
	if err != nil {
		w.Errorf("publishing: %v", err)
		return
	}
	e.id = receipt.ID
	w.receipts = append(w.receipts, sent{e, receipt})
}

func (w *world) publishOne() { w.publish(w.next()) }

func (w *world) publishDelayed() {
	e := w.next()
	e.due = time.Now().Add(time.Duration(1+w.IntN(5_000_000)) * time.Microsecond)
	w.publish(e, runtime.WithPublishAt(e.due))
}

func (w *world) publishBatch() {
	var payloads []orderPlaced
	var events []*modelEvent
	for range 2 + w.IntN(12) {
		e := w.next()
		e.typ, e.key = "order.placed", string(rune('A'+w.IntN(4)))
		w.model.add(e)
		events = append(events, e)
		payloads = append(payloads, orderPlaced{OrderID: e.key, Number: int(e.number)})
	}
	receipts, err := runtime.PublishBatch(context.Background(), w.bus.Bus, placedType, payloads)
	must(w.T, err)
	for i, r := range receipts {
		events[i].id = r.ID
		w.receipts = append(w.receipts, sent{events[i], r})
	}
}

// publishBurst publishes from several goroutines at once.
func (w *world) publishBurst() {
	var publishers sync.WaitGroup
	for range 2 + w.IntN(5) {
		e := w.next()
		w.model.add(e)
		publishers.Go(func() {
			receipt, err := e.publish(context.Background(), w.bus.Bus)
			if err != nil {
				w.Errorf("publishing: %v", err)
				return
			}
			e.id = receipt.ID
		})
	}
	publishers.Wait()
}

// publishOnce publishes with an idempotency key that may have been used before.
func (w *world) publishOnce() {
	e := w.next()
	key := fmt.Sprintf("key %d", w.IntN(3))
	first, known := w.keys[e.typ+key]
	if known && time.Until(first.expires) <= 0 {
		known = false
	}
	switch {
	case !known:
		expires := time.Now().Add(modelDedupeWindow).Truncate(time.Microsecond)
		w.publish(e, runtime.WithDedupeKey(key))
		w.keys[e.typ+key] = remembered{e, expires}
	case w.IntN(2) == 0:
		receipt, err := first.publish(context.Background(), w.bus.Bus, runtime.WithDedupeKey(key))
		if err != nil || !receipt.Duplicate || receipt.ID != first.id {
			w.Errorf("publishing event %d again with its key: %+v, %v", first.number, receipt, err)
		}
	default:
		_, err := e.publish(context.Background(), w.bus.Bus, runtime.WithDedupeKey(key))
		if conflict := (*runtime.ConflictError)(nil); !errors.As(err, &conflict) || conflict.First != first.id {
			w.Errorf("another payload with the key of event %d: %v", first.number, err)
		}
	}
}

// letters returns the dead letters and what the model knows about each.
func (w *world) letters() (*dlq.Inspector, []dlq.Letter) {
	synctest.Wait()
	w.model.open(nil) // verdicts that time has given meanwhile
	inspector, err := dlq.Open(w.bus.path)
	must(w.T, err)
	letters, err := inspector.List(context.Background(), dlq.Page{Limit: 100_000})
	must(w.T, err)
	return inspector, letters
}

func (w *world) redrive() {
	inspector, letters := w.letters()
	defer inspector.Close()
	for _, l := range letters {
		if w.IntN(2) == 0 {
			w.model.redrive(w.model.pair(l.EventID, l.Subscription))
			must(w.T, inspector.Retry(context.Background(), l.Key))
		}
	}
}

func (w *world) purge() {
	inspector, letters := w.letters()
	defer inspector.Close()
	if len(letters) == 0 {
		return
	}
	cutoff := letters[w.IntN(len(letters))].DeadAt
	want := 0
	for _, l := range letters {
		if !l.DeadAt.After(cutoff) {
			want++
			w.model.purge(w.model.pair(l.EventID, l.Subscription))
		}
	}
	if n, err := inspector.Purge(context.Background(), cutoff); n != want || err != nil {
		w.Errorf("purged %d (%v), want %d", n, err, want)
	}
}

// waitLimit is longer than anything takes.
const waitLimit = 24 * time.Hour

func (w *world) waitIdle() {
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	if err := w.bus.WaitIdle(ctx); err != nil {
		w.Errorf("waiting until idle: %v; open are %v", err, w.model.open(w.attached))
		return
	}
	if open := w.model.open(w.attached); len(open) > 0 {
		w.Errorf("WaitIdle has returned and these deliveries are open: %v", open)
	}
	w.model.final(func(p *pair) bool { return w.attached[p.sub.name] != nil })
}

// waitForOne waits for an event whose subscriptions are all there.
func (w *world) waitForOne() {
	if len(w.receipts) == 0 {
		return
	}
	one := w.receipts[w.IntN(len(w.receipts))]
	for name := range one.pairs {
		if w.attached[name] == nil {
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	outcome, err := one.Wait(ctx)
	if err != nil {
		w.Errorf("waiting for event %d: %v", one.number, err)
		return
	}
	w.auditOutcome(one.modelEvent, outcome)
	w.model.final(func(p *pair) bool { return p.event == one.modelEvent })
}

var _ = 0

func (w *world) rowsDebug(path string) {
	b, _ := os.ReadFile(path + "-claims")
	for ; len(b) >= 32; b = b[32:] {
		if b[0] != 0 {
			w.note("  claim sub %d running %d highest %d", b[0], int(b[8])+256*int(b[9]), int(b[16])+256*int(b[17]))
		}
	}
	old := w.bus.path
	for _, r := range w.rows("SELECT d.*, l.payload, s.name, s.cursor FROM deliveries d JOIN log l USING (seq) JOIN subscriptions s ON s.id = d.subscription WHERE d.state<>'dead'") {
		w.note("  row %v", r)
	}
	w.bus.path = old
	w.model.mu.Lock()
	w.model.each(func(p *pair) {
		if p.current != nil {
			w.note("  running %v since %v until %v over %v %+v", p, p.current.began.Format("05.000000"), p.current.deadline.Format("05.000000"), p.current.over, p.current.plan)
		}
	})
	w.model.mu.Unlock()
}

func (w *world) note(f string, a ...any) { w.debug = append(w.debug, fmt.Sprintf(f, a...)) }
