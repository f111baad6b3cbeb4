package simfs

import (
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// patience is how many operations may fail after a power cut before begin panics.
const patience = 100_000

// Fault says which operations [FS.Fail] makes fail, and how.
type Fault struct {
	Op     Op     // the kinds that fail
	File   string // the end of the file's name; empty for all files
	Nth    int    // the first to fail, counted from the call of Fail; 1 is the next
	Err    error  // the error that they return: an error code of the driver
	Sticky bool   // all later ones fail too
	// Extent is how much of a failing write, truncation or deletion happens
	// before it fails.
	Extent Extent
	// Forget makes a failing sync drop its changes, as Linux does: the process
	// still sees them, but no later sync makes them durable.
	Forget bool
	// Limit ends the fault after so many failures, so that a program that tries
	// again without a pause does not loop for ever. 0 means no limit.
	Limit int
}

// Extent is how much of an operation happens.
type Extent uint8

// The extents.
const (
	Nothing Extent = iota
	Half           // the first half of a write; nothing of anything else
	All
)

// Fail makes operations fail. It replaces the fault of an earlier call.
func (f *FS) Fail(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.failed = &fault, 0
}

// Heal ends the fault and restores the power. Operations that failed stay failed;
// the contents stay as the process saw them.
func (f *FS) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.cut, f.dead = nil, 0, false
}

// Failures returns how many operations have failed since the last call of
// Fail, or since the power failed.
func (f *FS) Failures() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// CutAfter cuts the power at the n-th change of a file from now on; 1 is the next.
// That change and every later operation fail, until Heal. After 100,000 failed
// operations it panics, because some program tries again without a pause.
func (f *FS) CutAfter(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut = n
}

// Cut cuts the power now: every later operation fails, until Heal.
func (f *FS) Cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead, f.failed = true, 0
}

// Dead reports whether the power has failed.
func (f *FS) Dead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// begin counts an operation on a file and decides whether it fails. It returns how
// much of the operation happens, and its error. The caller holds mu.
func (f *FS) begin(op Op, name string) (Extent, error) {
	f.counts[op]++
	f.forgets = false
	if f.dead {
		if f.failed++; f.failed > patience {
			panic(fmt.Sprintf("simfs: %d operations since the power failed: something tries again without a pause", f.failed))
		}
		return Nothing, failure(op)
	}
	if op&Changes != 0 && f.cut > 0 {
		if f.cut--; f.cut == 0 {
			// The change is under way: Crash decides how much of it is
			// there, as for all changes without a sync.
			f.dead, f.failed = true, 0
			return All, failure(op)
		}
	}
	if f.fault == nil || f.fault.Op&op == 0 || !strings.HasSuffix(name, f.fault.File) {
		return All, nil
	}
	if f.fault.Nth--; f.fault.Nth > 0 {
		return All, nil
	}
	f.failed++
	extent, err := f.fault.Extent, f.fault.Err
	f.forgets = f.fault.Forget
	if !f.fault.Sticky || f.failed == f.fault.Limit {
		f.fault = nil
	}
	return extent, err
}

// failure returns the error of an operation without power.
func failure(op Op) error {
	switch op {
	case Open:
		return sqlite3.CANTOPEN
	case Read:
		return sqlite3.IOERR_READ
	case Write:
		return sqlite3.IOERR_WRITE
	case Truncate:
		return sqlite3.IOERR_TRUNCATE
	case Sync:
		return sqlite3.IOERR_FSYNC
	case Delete:
		return sqlite3.IOERR_DELETE
	default:
		return sqlite3.IOERR_LOCK
	}
}
