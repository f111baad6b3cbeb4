package simfs

import (
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// patience is how many operations a program may try after the power failed.
const patience = 100_000

// Fault is what [FS.Fail] does to operations.
type Fault struct {
	Op     Op     // the kinds that fail
	File   string // only on files whose names end so; empty for all
	Nth    int    // which of them, counted from the call of Fail; 1 is the next
	Err    error  // what they return: an error code of the driver
	Sticky bool   // all later ones fail too
	// Extent is how much of a failing write, truncation or deletion happens
	// nevertheless.
	Extent Extent
	// Forget makes a failing sync forget what it should have written, as
	// Linux does: the process goes on seeing it, but no later sync makes it
	// durable.
	Forget bool
	// Limit, if it is not 0, ends the fault after so many failures, so that
	// a program that keeps trying without a pause comes to an end.
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

// Fail makes operations fail, in place of what an earlier call asked for.
func (f *FS) Fail(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.failed = &fault, 0
}

// Heal ends faults and brings the power back. What failed stays failed; what
// was written before stays as the process saw it.
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

// CutAfter makes the power fail at the n-th change of a file from now on; 1 is
// the next. That change and every operation after it fail, until Heal. A program
// that goes on trying as fast as it can panics in the end.
func (f *FS) CutAfter(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cut = n
}

// Cut makes the power fail now: every operation from here on fails, until Heal.
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

// begin counts an operation on a file and decides about it. It returns how
// much of it is to happen, and the error of an operation that fails. The caller
// holds mu.
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
			// It was under way: what becomes of it is decided with all
			// that is not synced.
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

// failure is the error of an operation without power.
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
