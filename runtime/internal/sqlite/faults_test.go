package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
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
//   - dispositions given during the fault are written after it, and stay;
//   - work goes on after the fault on the same open log, and after a restart;
//   - nothing tries again without a pause;
//   - SQLite finds nothing wrong with the file.
func TestFaultsAreReportedAndOvercome(t *testing.T) {
	var done counter
	points := faultPoints(t)
	var seeds []uint64
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(len(points))[:min(simFaults.N(), len(points))] {
		seeds = append(seeds, uint64(i+1))
	}
	simulate(t, seeds, func(s *sim) {
		p := points[s.seed-1]
		r := newFaultRun(s, p)
		r.counter = &done
		r.run()
	})
	t.Cleanup(func() { t.Logf("%d of %d possible faults: %v", done.get("met"), len(points), &done) })
}

// faultRun is one fault.
type faultRun struct {
	*machine
	point   faultPoint
	counted map[simfs.Op]int // operations until the fault ends, by kind of fault
	steps   int              // of the work, begun
	disk    *simfs.FS        // the one with the fault
	locked  bool             // by another connection
	unlock  func()           // ends that
	over    bool             // the fault was met, and lasts no more
}

func newFaultRun(s *sim, point faultPoint) *faultRun {
	s.Rand = rand.New(rand.NewPCG(4, 2)) // always the same work
	r := &faultRun{machine: &machine{sim: s, model: newModel()}, point: point, counted: map[simfs.Op]int{}, unlock: func() {}}
	r.failed, r.inDoubt = r.excuse, r.lasts
	return r
}

// lasts says that the fault outlives the process. Then it may be that an event
// was refused because the commit's sync failed, and nothing could be written
// any more to take it back.
func (r *faultRun) lasts() bool {
	return r.point.fault.Sticky && (r.point.end == endClose || r.point.end == endKill)
}

// excuse checks that an error was to be expected, and says what is wrong.
func (r *faultRun) excuse(doing string, err error) {
	r.Helper()
	var typed *event.StorageError
	switch {
	case !r.met() || r.over:
		r.fault("cannot %s without a reason: %v", doing, err)
	case !errors.As(err, &typed) || typed.Path != r.path || typed.Op == "" || typed.Fault == "":
		r.fault("%s failed with an error that says nothing: %v", doing, err)
	case (r.point.locked > 0) != (typed.Fault == event.Busy) && !errors.Is(r.point.fault.Err, sqlite3.BUSY):
		r.fault("%s failed with a %q: %v", doing, typed.Fault, err)
	case (errors.Is(err, sqlite3.FULL) || errors.Is(err, syscall.ENOSPC)) != (typed.Fault == event.DiskFull):
		r.fault("%s failed with a %q: %v", doing, typed.Fault, err)
	}
	r.count("errors reported")
}

// met says whether the fault has happened.
func (r *faultRun) met() bool { return r.disk.Failures() > 0 || r.locked }

// fault ends the test, naming the fault.
func (r *faultRun) fault(format string, args ...any) {
	r.Helper()
	r.fail("%v:\n\t%s", r.point, fmt.Sprintf(format, args...))
}

func (r *faultRun) run() {
	r.lives = 1
	r.boot(r.base())
	r.disk = r.fs
	r.trace("%v", r.point)
	if r.point.fault.Op != 0 {
		r.fs.Fail(r.point.fault)
	}
	r.work()
	r.tally()
	switch r.point.end {
	case endHeal:
		r.goOn()
	case endClose:
		r.close()
	case endKill:
		r.restart(r.fs.Kill())
	case endPower:
		r.power()
	}
	if r.met() {
		r.count("met")
	}
	if n := r.disk.Failures(); n >= faultLimit {
		r.fault("%d operations failed: something tries again without a pause", n)
	}
}

// tally counts the operations so far.
func (r *faultRun) tally() {
	for _, kind := range kindsOfFaults {
		r.counted[kind.Op] = r.fs.Count(kind.Op)
	}
}

// heal ends the fault.
func (r *faultRun) heal() {
	r.fs.Heal()
	r.unlock()
	r.over = true
	if r.log == nil || len(r.consumers) < 2 {
		r.again()
	}
}

// goOn ends the fault. Everything has to work again, on the same open log.
func (r *faultRun) goOn() {
	r.heal()
	time.Sleep(time.Second) // dispositions that could not be written are tried again
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

// power ends the fault, works a little, and cuts the power.
func (r *faultRun) power() {
	r.heal()
	r.publish(2, 50)
	r.restart(r.fs.Crash(r.seed))
}

// release gives back what is at hand, as who closes a log does before.
func (r *faultRun) release() {
	for _, d := range r.held {
		r.settle(d, engine.Disposition{Kind: engine.Release})
	}
	r.held = nil
}

// restart ends the process, and starts another on what it has left.
func (r *faultRun) restart(image simfs.Image) {
	r.unlock()
	r.abandon()
	r.died(r.lives)
	r.inspect(image)
	r.lives++
	r.boot(image)
	r.over = true
	r.recover()
}
