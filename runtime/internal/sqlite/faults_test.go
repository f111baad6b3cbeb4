package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
)

// TestFaultsAreReportedAndOvercome runs one small piece of work again and
// again. Each time another operation on the disk fails: the n-th write, sync,
// truncation, read, open or lock, once or from then on, for different reasons,
// with nothing, a part or all of it having happened. Then the fault ends while
// the log is open, or the log is closed under it, or the process dies. It
// checks that
//
//   - what fails says so with a typed error, and nothing fails without reason;
//   - who was told of an error has no event in the log, and who was not has;
//   - verdicts given during the fault are written after it, and stay;
//   - work goes on after the fault on the same open log, and after a restart;
//   - nothing tries again without a pause;
//   - SQLite finds nothing wrong with the file.
func TestFaultsAreReportedAndOvercome(t *testing.T) {
	var done counter
	points := faultPoints(t)
	every := max(1, len(points)/(*simFaults))
	var seeds []uint64
	for i := 0; i < len(points); i += every {
		seeds = append(seeds, uint64(i+1))
	}
	simulate(t, seeds, func(s *sim) {
		p := points[s.seed-1]
		r := newFaultRun(s, p)
		r.counter = &done
		r.run()
	})
	t.Cleanup(func() { t.Logf("%d of %d possible faults: %v", len(seeds), len(points), &done) })
}

// faultPoint is one fault and how it ends.
type faultPoint struct {
	fault simfs.Fault
	work  string // which piece of work
	end   string // how it ends
}

const (
	endHeal  = "the fault ends"
	endClose = "the log is closed under it"
	endKill  = "the process dies"
)

func (p faultPoint) String() string {
	often := "once"
	if p.fault.Sticky {
		often = "from then on"
	}
	return fmt.Sprintf("%s, operation %d of kind %v fails %s with %v (extent %d), then %s",
		p.work, p.fault.Nth, p.fault.Op, often, p.fault.Err, p.fault.Extent, p.end)
}

// kindsOfFaults are the operations that fail, and how.
var kindsOfFaults = []simfs.Fault{
	{Op: simfs.Write, Err: sqlite3.FULL},
	{Op: simfs.Write, Err: sqlite3.IOERR_WRITE, Extent: simfs.Half},
	{Op: simfs.Write, Err: sqlite3.IOERR_WRITE, Extent: simfs.All},
	{Op: simfs.Write | simfs.Sync | simfs.Truncate, Err: sqlite3.IOERR},
	{Op: simfs.Sync, Err: sqlite3.IOERR_FSYNC},
	{Op: simfs.Truncate, Err: sqlite3.FULL},
	{Op: simfs.Truncate, Err: sqlite3.IOERR_TRUNCATE, Extent: simfs.All},
	{Op: simfs.Read, Err: sqlite3.IOERR_READ},
	{Op: simfs.Open, Err: sqlite3.CANTOPEN},
	{Op: simfs.Delete, Err: sqlite3.IOERR_DELETE},
	{Op: simfs.Lock, Err: sqlite3.BUSY},
	{Op: simfs.Lock, Err: sqlite3.IOERR_LOCK},
}

// faultPoints lists every fault there can be, after a run that counts.
func faultPoints(t *testing.T) (points []faultPoint) {
	for _, work := range []string{workSmall, workLarge} {
		for _, end := range []string{endHeal, endClose, endKill} {
			synctest.Test(t, func(t *testing.T) {
				r := newFaultRun(newSim(t, 0), faultPoint{work: work, end: end})
				r.counter = &counter{}
				r.run()
				points = append(points, r.points()...)
			})
		}
	}
	return points
}

// points lists the faults of a run that had none.
func (r *faultRun) points() (points []faultPoint) {
	step := 1
	if r.point.work == workLarge {
		step = 41 // thousands of writes, and much alike
	}
	for _, kind := range kindsOfFaults {
		step := step
		if kind.Op == simfs.Sync {
			step = 1
		}
		for n := 1; n <= r.counted[kind.Op]; n += step {
			for _, sticky := range []bool{false, true} {
				kind.Nth, kind.Sticky, kind.Limit = n, sticky, faultLimit
				points = append(points, faultPoint{kind, r.point.work, r.point.end})
			}
		}
	}
	return points
}

// faultLimit is how many operations may fail while a fault lasts. Some seconds
// of waiting and trying again come to a small part of that.
const faultLimit = 5000

// faultRun is one fault.
type faultRun struct {
	*machine
	point   faultPoint
	counted map[simfs.Op]int // operations until the fault ends, by kind of fault
	over    bool             // the fault was met, and lasts no more
}

func newFaultRun(s *sim, point faultPoint) *faultRun {
	s.Rand = rand.New(rand.NewPCG(4, 2)) // always the same work
	r := &faultRun{machine: &machine{sim: s, model: newModel()}, point: point, counted: map[simfs.Op]int{}}
	r.failed, r.inDoubt = r.excuse, func() bool { return false }
	return r
}

// excuse checks that an error was to be expected, and says what is wrong.
func (r *faultRun) excuse(doing string, err error) {
	r.Helper()
	var typed *engine.StorageError
	switch {
	case r.fs.Failures() == 0 || r.over:
		r.fault("cannot %s without a reason: %v", doing, err)
	case !errors.As(err, &typed) || typed.Path != r.path || typed.Op == "" || typed.Fault == "":
		r.fault("%s failed with an error that says nothing: %v", doing, err)
	case errors.Is(err, sqlite3.FULL) != (typed.Fault == engine.DiskFull):
		r.fault("%s failed with a %q: %v", doing, typed.Fault, err)
	}
	r.count("errors reported")
}

// fault ends the test, naming the fault.
func (r *faultRun) fault(format string, args ...any) {
	r.Helper()
	r.fail("%v:\n\t%s", r.point, fmt.Sprintf(format, args...))
}

func (r *faultRun) run() {
	r.lives = 1
	r.boot(r.base())
	r.trace("%v", r.point)
	if r.point.fault.Op != 0 {
		r.fs.Fail(r.point.fault)
	}
	r.work()
	r.tally()
	switch r.point.end {
	case endHeal:
		r.heal()
	case endClose:
		r.close()
	case endKill:
		r.restart(r.fs.Kill())
	}
	if r.fs.Failures() >= faultLimit {
		r.fault("%d operations failed: something tries again without a pause", r.fs.Failures())
	}
}

// tally counts the operations so far.
func (r *faultRun) tally() {
	for _, kind := range kindsOfFaults {
		r.counted[kind.Op] = r.fs.Count(kind.Op)
	}
	if r.fs.Failures() > 0 {
		r.count("faults met")
	}
}

// heal ends the fault. Everything has to work again, on the same open log.
func (r *faultRun) heal() {
	r.fs.Heal()
	r.over = true
	if r.log == nil || len(r.consumers) < 2 {
		r.again()
	}
	time.Sleep(time.Second) // verdicts that could not be written are tried again
	r.publish(2, 50)
	r.drain()
	r.everythingIsSettled()
	r.must(r.log.Close())
	r.inspect(r.fs.Kill())
}

// again opens the log after it could not be opened.
func (r *faultRun) again() {
	r.abandon()
	r.died(r.lives)
	r.lives++
	if !r.start() {
		r.fault("the log does not open")
	}
}

// close closes the log under the fault, and starts again without.
func (r *faultRun) close() {
	r.release()
	if r.log != nil {
		if err := r.log.Close(); err != nil {
			r.excuse("close", err)
		}
		r.tally()
	}
	r.restart(r.fs.Kill())
}

// release gives back what is at hand, as who closes a log does before.
func (r *faultRun) release() {
	for _, d := range r.held {
		r.settle(d, engine.Verdict{Kind: engine.Release})
	}
	r.held = nil
}

// restart ends the process, and starts another on what it has left.
func (r *faultRun) restart(image simfs.Image) {
	r.abandon()
	r.died(r.lives)
	r.inspect(image)
	r.lives++
	r.boot(image)
	r.over = true
	r.recover()
}

const (
	workSmall = "in everyday work"
	workLarge = "in a large transaction and its checkpoint"
)

// work is what the fault interrupts.
func (r *faultRun) work() {
	if !r.start() {
		return
	}
	steps := []func(){
		func() { r.publish(2, 50) },
		func() { r.poll(r.consumers[0], 2); r.poll(r.consumers[1], 1) },
		func() { r.give(engine.Verdict{Kind: engine.Done}) },
		func() { r.give(r.failure(engine.Retry)) },
		func() { r.publish(5, 50) },
		r.flush,
		func() { r.poll(r.consumers[0], 9); r.poll(r.consumers[1], 9) },
		func() { r.give(r.failure(engine.Dead)) },
		func() { r.give(engine.Verdict{Kind: engine.Done, Staged: r.records(r.sim, simTypes, 2, 50)}) },
		r.publishTogether,
		func() { time.Sleep(20 * time.Millisecond) },
		func() { r.give(engine.Verdict{Kind: engine.Done}) },
		func() { r.publish(1, 20_000) },
		r.publishAgain,
		func() { r.poll(r.consumers[0], 2) },
		func() { time.Sleep(time.Second) },
		r.flush,
		func() { r.publish(1, 50) },
	}
	if r.point.work == workLarge {
		steps = []func(){
			func() { r.publish(1, 50) },
			func() { r.poll(r.consumers[0], 1) },
			func() { r.give(engine.Verdict{Kind: engine.Done}) },
			func() { r.publish(6, 1_500_000) },
			func() { r.publish(1, 50) },
			r.flush,
			func() { r.publish(1, 50) },
		}
	}
	for _, step := range steps {
		r.over = r.fs.Failures() > 0 && !r.point.fault.Sticky
		step()
		synctest.Wait()
	}
}

// give settles the oldest delivery at hand.
func (r *faultRun) give(v engine.Verdict) {
	if len(r.held) == 0 {
		return
	}
	d := r.held[0]
	r.held = r.held[1:]
	d.pair.begun = r.lives
	d.worker.consumer.Begin(d.Delivery, 0, time.Now())
	r.settle(d, v)
}

func (r *faultRun) failure(kind engine.VerdictKind) engine.Verdict {
	v := engine.Verdict{Kind: kind, Attempt: &engine.Attempt{
		Kind: engine.KindError, Started: time.Now(), Ended: time.Now(), Error: "it did not work",
	}}
	if kind == engine.Dead {
		v.Reason = engine.ReasonMaxAttempts
	} else {
		v.Due = time.Now().Add(time.Millisecond)
	}
	return v
}
