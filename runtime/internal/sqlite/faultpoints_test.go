package sqlite

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/simfs"
)

// faultPoint is one fault and how it ends.
type faultPoint struct {
	fault  simfs.Fault
	locked int    // instead: the step before which another connection locks the file
	work   string // which piece of work
	end    string // how it ends
}

const (
	workSmall = "in everyday work"
	workLarge = "in a large transaction and its checkpoint"
)

const (
	endHeal  = "the fault ends"
	endClose = "the log is closed under it"
	endKill  = "the process dies"
	endPower = "work goes on and the power fails"
)

func (p faultPoint) String() string {
	often := "for a moment"
	if p.fault.Sticky {
		often = "from then on"
	}
	if p.locked > 0 {
		return fmt.Sprintf("%s, the file is locked %s before step %d, then %s", p.work, often, p.locked, p.end)
	}
	return fmt.Sprintf("%s, operation %d (%v) fails %s with %q (extent %d, forget %v), then %s",
		p.work, p.fault.Nth, p.fault.Op, often, p.fault.Err, p.fault.Extent, p.fault.Forget, p.end)
}

// kindsOfFaults are the operations that fail, and how.
var kindsOfFaults = []simfs.Fault{
	{Op: simfs.Write, Err: &fs.PathError{Op: "write", Path: "events.db", Err: syscall.ENOSPC}},
	{Op: simfs.Write, Err: sqlite3.IOERR_WRITE, Extent: simfs.Half},
	{Op: simfs.Write, Err: sqlite3.IOERR_WRITE, Extent: simfs.All},
	{Op: simfs.Write | simfs.Sync | simfs.Truncate, Err: sqlite3.IOERR},
	{Op: simfs.Sync, Err: syscall.ENOSPC},
	{Op: simfs.Sync, Err: sqlite3.IOERR_FSYNC, Forget: true},
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
		for _, end := range []string{endHeal, endClose, endKill, endPower} {
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
		step = 307 // thousands of writes, and much alike
	}
	for _, kind := range kindsOfFaults {
		step := step
		if kind.Op == simfs.Sync {
			step = 1
		}
		for n := 1; n <= r.counted[kind.Op]; n += step {
			for _, sticky := range []bool{false, true} {
				kind.Nth, kind.Sticky, kind.Limit = n, sticky, faultLimit
				points = append(points, faultPoint{fault: kind, work: r.point.work, end: r.point.end})
			}
		}
	}
	for at := range r.steps {
		for _, sticky := range []bool{false, true} {
			points = append(points, faultPoint{fault: simfs.Fault{Sticky: sticky}, locked: at + 1, work: r.point.work, end: r.point.end})
		}
	}
	return points
}

// faultLimit is how many operations may fail while a fault lasts: far more than
// seconds of waiting and trying again come to, and far less than a loop does.
const faultLimit = 20_000
