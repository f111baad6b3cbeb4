package sqlite

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
)

// TestNothingPromisedIsLostInAPowerCut runs random work on a simulated disk,
// cuts the power at a random operation, and goes on with what a disk may then
// hold, up to three times per seed. It checks at every step, and at the end
// without a cut, that
//
//   - an event whose Append returned nil is there, unchanged, in its place;
//   - one whose Append returned an error is not, unless it was the power cut
//     that interrupted it; then its whole batch is there or nothing of it;
//   - events staged with a success are there if and only if the success is;
//   - a verdict that was written before a later event was synced stays;
//   - every other delivery is handed out again, in order, and can be settled;
//   - who was not at work is not charged for the crash;
//   - SQLite finds nothing wrong with the file.
func TestNothingPromisedIsLostInAPowerCut(t *testing.T) {
	rounds, cuts := *simRounds, counter{}
	simulate(t, rounds, func(s *sim) {
		r := &powerLoss{sim: s, model: newModel(), counter: &cuts}
		r.run()
	})
	t.Cleanup(func() { t.Logf("%d seeds: %v", cuts.get("seeds"), &cuts) })
}

// powerLoss is one seed.
type powerLoss struct {
	*sim
	*model
	*counter
	consumers []*worker
	held      []*polled
	claims    []byte // as they were at some moment of this life
	calm      bool   // the last life, without a cut
}

// worker is a subscription and who polls it.
type worker struct {
	spec     engine.ConsumerSpec
	consumer engine.Consumer
	pattern  glob.Pattern
	first    int64 // seq of the newest event handed out for the first time in this life
}

// polled is a delivery at hand.
type polled struct {
	*engine.Delivery
	*pair
	worker *worker
	place  int // its worker's number, once begun
	begun  bool
}

var simTypes = []string{"order.placed", "order.paid", "user.created"}

func (r *powerLoss) run() {
	r.count("seeds")
	image := simfs.Image(nil)
	if r.chance(85) {
		image = r.base()
	}
	for range 1 + r.IntN(3) {
		r.lives++
		r.boot(image)
		r.fs.CutAfter(1 + r.IntN(r.cutWithin()))
		r.live()
		if r.fs.Dead() {
			r.count("cuts under way")
		} else {
			r.count("cuts between operations")
		}
		image = r.crash()
	}
	r.lives++
	r.boot(image)
	r.calm = true
	r.recover()
}

// cutWithin is how many changes of files to expect. Cuts at the beginning find
// other mistakes than cuts in the middle of work.
func (r *powerLoss) cutWithin() int {
	return []int{8, 40, 200, 400}[r.IntN(4)]
}

// live works until the power fails, or it has done enough.
func (r *powerLoss) live() {
	if !r.start() {
		return
	}
	for range 10 + r.IntN(40) {
		if r.fs.Dead() {
			return
		}
		r.step()
		synctest.Wait() // so that the seed decides about the order of things
	}
}

// start opens the log, and reports false if the power failed meanwhile.
func (r *powerLoss) start() bool {
	log, err := Open(r.path, Options{VFS: r.fs.Name()})
	if err != nil {
		return r.interrupted("open", err)
	}
	r.log = log
	if err := log.DeclareTypes(r.Context(), simTypes); err != nil {
		return r.interrupted("declare types", err)
	}
	r.consumers, r.held = nil, nil
	for _, spec := range []engine.ConsumerSpec{
		{Name: "audit", Pattern: "*", FromBeginning: true},
		{Name: "orders", Pattern: "order.*", FromBeginning: true},
	} {
		consumer, err := log.Consumer(r.Context(), spec)
		if err != nil {
			return r.interrupted("subscribe", err)
		}
		pattern, err := glob.Parse(spec.Pattern)
		r.must(err)
		r.consumers = append(r.consumers, &worker{spec: spec, consumer: consumer, pattern: pattern})
	}
	if _, err := log.TakeOver(r.Context()); err != nil {
		return r.interrupted("take over", err)
	}
	return true
}

// interrupted checks that only the power cut made something fail.
func (r *powerLoss) interrupted(doing string, err error) bool {
	r.Helper()
	if !r.fs.Dead() {
		r.fail("life %d: cannot %s: %v", r.lives, doing, err)
	}
	return false
}

func (r *powerLoss) step() {
	switch n := r.IntN(100); {
	case n < 25:
		r.publish(1, 100)
	case n < 33:
		r.publish(2+r.IntN(5), 100)
	case n < 35:
		r.publish(60+r.IntN(20), 100)
	case n < 37:
		r.publish(1, 300_000)
	case n < 45:
		r.publishTogether()
	case n < 47:
		r.publishTooLate()
	case n < 63:
		r.poll(r.consumers[r.IntN(len(r.consumers))], 1+r.IntN(5))
	case n < 83:
		r.work()
	case n < 90:
		r.flush()
	case n < 95:
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
	case n < 98:
		r.checkpoint()
	case n < 99:
		r.snapshot()
	default:
		r.restart()
	}
}

func (r *powerLoss) publish(n, size int) {
	records := r.records(r.sim, simTypes, n, size)
	call := r.add(records, nil)
	r.published(call, records, r.log.Append(r.Context(), records))
}

// published notes how an Append ended.
func (r *powerLoss) published(c *call, records []engine.Record, err error) {
	r.Helper()
	r.trace("publish %d: %v", len(records), err)
	if err != nil {
		r.interrupted("publish", err) // nobody knows what became of it
		return
	}
	r.count("events acknowledged", len(records))
	c.fate = stored
	for _, record := range records {
		if record.Seq <= r.newest {
			r.fail("life %d: an event was given number %d after number %d", r.lives, record.Seq, r.newest)
		}
		r.newest = record.Seq
		r.events[record.ID].Seq = record.Seq
	}
	r.synced()
}

// publishTogether makes several publishers wait behind the sync of one, so
// that they share the next transaction.
func (r *powerLoss) publishTogether() {
	type result struct {
		call    *call
		records []engine.Record
		err     error
	}
	n := 2 + r.IntN(4)
	results := make([]result, n)
	release := r.fs.Hold()
	for i := range results {
		one := &results[i]
		one.records = r.records(r.sim, simTypes, 1+r.IntN(2), 100)
		one.call = r.add(one.records, nil)
		go func() { one.err = r.log.Append(r.Context(), one.records) }()
		synctest.Wait()
	}
	release()
	synctest.Wait()
	// Within a transaction all are stored, or none; which of them shared one
	// is the engine's business.
	for _, one := range results {
		r.published(one.call, one.records, one.err)
	}
}

// publishTooLate has given up before it begins.
func (r *powerLoss) publishTooLate() {
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	records := r.records(r.sim, simTypes, 1, 100)
	call := r.add(records, nil)
	if err := r.log.Append(ctx, records); !errors.Is(err, context.Canceled) {
		r.fail("an Append whose context had ended returned %v", err)
	}
	call.fate = refused
}

// poll takes deliveries, and checks that each may be handed out.
func (r *powerLoss) poll(w *worker, limit int) int {
	deliveries, err := w.consumer.Poll(nil, limit)
	if err != nil {
		r.interrupted("poll", err)
	}
	for _, d := range deliveries {
		r.held = append(r.held, r.check(w, d))
	}
	return len(deliveries)
}

func (r *powerLoss) check(w *worker, d *engine.Delivery) *polled {
	r.Helper()
	e := r.events[d.ID]
	if e == nil || e.call.fate == refused {
		r.fail("life %d: %s was handed event %d (%s), which was never stored", r.lives, w.spec.Name, d.Seq, d.ID)
	}
	if e.Seq == 0 {
		e.Seq = d.Seq // of a call that the cut interrupted
	}
	p := r.pair(w.spec.Name, e)
	switch {
	case d.Seq != e.Seq, d.Type != e.Type, string(d.Payload) != string(e.Payload), string(d.Metadata) != string(e.Metadata), d.CreatedAt.UnixMicro() != e.CreatedAt.UnixMicro():
		r.fail("life %d: %v has changed: %+v, was %+v", r.lives, p, d.Record, e.Record)
	case !w.pattern.Match(d.Type):
		r.fail("life %d: %v is of type %s", r.lives, p, d.Type)
	case p.final():
		r.fail("life %d: %v was settled in life %d, synced, and is handed out again", r.lives, p, p.life)
	case p.handed == r.lives && p.verdict != engine.Retry && p.verdict != engine.Release:
		r.fail("life %d: %v is handed out twice", r.lives, p)
	case p.life == r.lives && p.verdict == engine.Retry && time.Now().Before(p.due):
		r.fail("life %d: %v is handed out %v too early", r.lives, p, time.Until(p.due))
	case p.handed == 0 && d.Seq <= w.first:
		r.fail("life %d: %v comes after event %d", r.lives, p, w.first)
	case d.Failures < p.atLeast:
		r.fail("life %d: %v has %d failures, %d were synced", r.lives, p, d.Failures, p.atLeast)
	case d.Failures > p.failures+p.crashes:
		r.fail("life %d: %v has %d failures, %d were recorded and %d crashes interrupted it", r.lives, p, d.Failures, p.failures, p.crashes)
	case d.Crashed && p.crashes == 0:
		r.fail("life %d: %v was charged for a crash, and was not at work", r.lives, p)
	}
	if p.handed == 0 {
		w.first = d.Seq
	}
	r.trace("%v is handed out, with %d failures", p, d.Failures)
	p.handed, p.verdict, p.written, p.sealed = r.lives, 0, false, false
	return &polled{Delivery: d, pair: p, worker: w}
}

// work begins a delivery at hand, or settles it.
func (r *powerLoss) work() {
	if len(r.held) == 0 {
		return
	}
	at := r.IntN(len(r.held))
	d := r.held[at]
	if !d.begun {
		d.place, d.begun, d.pair.begun = r.IntN(2), true, r.lives
		d.worker.consumer.Begin(d.Delivery, d.place, time.Now())
		if r.chance(30) {
			return // and is busy for a while
		}
	}
	r.held = append(r.held[:at], r.held[at+1:]...)
	r.settle(d, r.verdict(d))
	if r.chance(50) {
		d.worker.consumer.Idle(d.place)
	}
}

func (r *powerLoss) verdict(d *polled) engine.Verdict {
	attempt := &engine.Attempt{Kind: engine.KindError, Started: time.Now(), Ended: time.Now(), Error: "it did not work"}
	switch n := r.IntN(100); {
	case n < 50:
		return engine.Verdict{Kind: engine.Done}
	case n < 65:
		return engine.Verdict{Kind: engine.Done, Staged: r.records(r.sim, simTypes, 1+r.IntN(3), 100)}
	case n < 85:
		due := time.Now().Add([]time.Duration{0, time.Millisecond, time.Second}[r.IntN(3)])
		return engine.Verdict{Kind: engine.Retry, Due: due, Attempt: attempt}
	case n < 95:
		return engine.Verdict{Kind: engine.Dead, Reason: engine.ReasonMaxAttempts, Attempt: attempt}
	default:
		return engine.Verdict{Kind: engine.Release}
	}
}

func (r *powerLoss) settle(d *polled, v engine.Verdict) {
	p := d.pair
	p.verdict, p.life, p.due, p.written, p.sealed, p.staged = v.Kind, r.lives, v.Due, false, false, nil
	p.counted = d.Failures
	if v.Attempt != nil {
		p.failures++
		p.counted++
	}
	if len(v.Staged) > 0 {
		p.staged = r.add(v.Staged, p)
	}
	r.trace("%v: verdict %d, %d staged", p, v.Kind, len(v.Staged))
	d.worker.consumer.Settle(d.Delivery, v)
	r.count("verdicts")
}

func (r *powerLoss) flush() {
	err := r.log.Flush(r.Context())
	r.trace("flush: %v", err)
	if err != nil {
		r.interrupted("flush", err)
		return
	}
	r.flushed(r.lives)
}

// checkpoint is done by another connection, as a shell or an inspector does.
func (r *powerLoss) checkpoint() {
	c, err := simRaw(r.path, r.fs)
	if err != nil {
		r.interrupted("open", err)
		return
	}
	defer c.Close()
	mode := []string{"PASSIVE", "FULL", "RESTART", "TRUNCATE"}[r.IntN(4)]
	if err := c.Exec("PRAGMA wal_checkpoint(" + mode + ")"); err != nil {
		r.interrupted("checkpoint", err)
	}
	r.count("checkpoints")
}

// restart ends the process in good order and starts the next.
func (r *powerLoss) restart() {
	for _, d := range r.held {
		r.settle(d, engine.Verdict{Kind: engine.Release})
	}
	err := r.log.Close()
	r.trace("close: %v", err)
	r.died(r.lives)
	if err != nil {
		r.interrupted("close", err)
		return
	}
	// Written, but not synced for whoever relies on that.
	r.flushed(r.lives)
	r.lives++
	r.start()
}

// snapshot remembers the claims as the disk may show them later: they are
// never synced.
func (r *powerLoss) snapshot() {
	content, err := os.ReadFile(r.path + "-claims")
	if err == nil {
		r.claims = content
	}
}

// crash ends the life by a power cut, and returns what the disk then holds.
func (r *powerLoss) crash() simfs.Image {
	synctest.Wait()
	r.trace("crash")
	image := r.fs.Crash(r.Uint64())
	if r.log != nil && r.chance(50) {
		r.snapshot()
	}
	r.abandon()
	r.leaveClaims()
	r.died(r.lives)
	r.inspect(image)
	return image
}

// leaveClaims makes of the claims what a power cut may: all, nothing, noise.
func (r *powerLoss) leaveClaims() {
	path := r.path + "-claims"
	switch content := r.claims; r.IntN(4) {
	case 0:
		os.Remove(path)
	case 1:
		for i := range content {
			if r.chance(5) {
				content[i] = byte(r.Uint32())
			}
		}
		r.must(os.WriteFile(path, content, 0o600))
	default:
		r.must(os.WriteFile(path, content, 0o600))
	}
	r.claims = nil
}

// inspect looks at what a power cut has left, without the engine. It finds
// out what became of what was interrupted.
func (r *powerLoss) inspect(image simfs.Image) {
	fs := simfs.New(r.TempDir(), image)
	defer fs.Unregister()
	c := r.raw(fs)
	defer c.Close()
	if found := r.rows(c, "PRAGMA integrity_check"); len(found) != 1 || found[0][0] != "ok" {
		r.fail("life %d: the file is damaged: %q", r.lives, found)
	}
	present := map[string]bool{}
	if tables := r.rows(c, "SELECT count(*) FROM sqlite_schema"); tables[0][0] != "0" {
		for _, row := range r.rows(c, "SELECT id FROM events") {
			present[row[0]] = true
		}
	}
	for _, call := range r.calls {
		n := 0
		for _, id := range call.ids {
			if present[id.String()] {
				n++
			}
		}
		switch {
		case n != 0 && n != len(call.ids):
			r.fail("life %d: of a batch of %d events %d are stored", r.lives, len(call.ids), n)
		case n == 0 && call.fate == stored:
			r.fail("life %d: acknowledged event %d (%s) is lost", r.lives, r.events[call.ids[0]].Seq, call.ids[0])
		case n > 0 && call.fate == refused:
			r.fail("life %d: event %s was refused and is stored", r.lives, call.ids[0])
		case n > 0 && call.fate == unknown:
			call.fate = stored
			r.count("interrupted calls that were stored")
			if p := call.parent; p != nil && p.staged == call {
				p.sealed = true // its success is in the same transaction
			}
		case n == 0 && call.fate == unknown:
			call.fate = refused
			r.count("interrupted calls that were not stored")
			if p := call.parent; p != nil && p.staged == call {
				p.verdict, p.staged = 0, nil // so its success is not there either
			}
		}
	}
}

// recover runs the last life: without a cut, everything can be settled.
func (r *powerLoss) recover() {
	r.start()
	for rounds := 0; ; rounds++ {
		found := 0
		for _, w := range r.consumers {
			found += r.poll(w, 1+r.IntN(20))
		}
		for _, d := range r.held {
			d.worker.consumer.Begin(d.Delivery, 0, time.Now())
			r.settle(d, engine.Verdict{Kind: engine.Done})
		}
		r.held = nil
		r.flush()
		if found > 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		err := r.log.WaitSettled(ctx, []engine.Consumer{r.consumers[0].consumer, r.consumers[1].consumer})
		cancel()
		if err == nil {
			break
		}
		if rounds > 1000 {
			r.fail("after the crash the deliveries do not settle: %v", err)
		}
	}
	r.everythingIsSettled()
	r.publish(1, 10) // it works
	r.must(r.log.Close())
	r.inspect(r.fs.Kill())
	r.fs.Unregister()
}

// everythingIsSettled checks that each stored event was handed to everyone it
// was for, in this life or settled in an earlier one.
func (r *powerLoss) everythingIsSettled() {
	for _, e := range r.events {
		if e.call.fate != stored {
			continue
		}
		for _, w := range r.consumers {
			p := r.pair(w.spec.Name, e)
			settled := p.verdict == engine.Done || p.verdict == engine.Dead
			if w.pattern.Match(e.Type) && !settled {
				r.fail("%v is neither settled nor handed out", p)
			}
		}
	}
	c := r.raw(r.fs)
	defer c.Close()
	for _, row := range r.rows(c, "SELECT status, count(*) FROM events WHERE status NOT IN ('done', 'dlq') GROUP BY status") {
		r.fail("%s events are %s after everything was settled", row[1], row[0])
	}
	dead := 0
	r.each(func(p *pair) {
		if p.final() && p.verdict == engine.Dead {
			dead++
		}
	})
	found := r.rows(c, "SELECT count(*) FROM dead_letters")
	if n, _ := strconv.Atoi(found[0][0]); n < dead {
		r.fail("%d dead letters are left of at least %d", n, dead)
	}
}
