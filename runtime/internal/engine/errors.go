package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/event"
)

// ErrClosed is returned by every method of a closed log.
var ErrClosed = errors.New("the event log is closed")

// ErrOpen is returned for a delivery that would have to be settled, and is not.
var ErrOpen = errors.New("open: cancel it first")

// ErrMoved is returned by Source.Poll when this process has other parts of the
// subscription than before.
var ErrMoved = errors.New("the deliveries of this subscription have moved between processes")

// ErrAwaited is returned by StepKeeper.StoreStep instead of storing that no event came.
var ErrAwaited = errors.New("an event that was waited for is stored, or may be")

// ErrRestored says that another state of the log was put in the place of the one
// that was opened. The consumers of the old state have ended: they hand out and record
// nothing.
var ErrRestored = event.ErrRestored

// ErrNotOwner is returned by what only the process that dispatches may do.
var ErrNotOwner = errors.New("this process does not dispatch from the file")

// HealthReporter is a [Log] that knows what is wrong with it.
type HealthReporter interface {
	// Health returns what is wrong. It is cheap while all goes well; else it may try to write, or ask servers. An error
	// says that it could not find out what stands still.
	Health(ctx context.Context) (LogHealth, error)
}

// LogHealth is what is wrong with a log. The zero value says that all is well.
type LogHealth struct {
	Unwritable *event.StorageError // of the last write; nil if that did not fail, or if one works that was tried now
	Since      time.Time           // since when such writes fail
	// Held is the line of the program that has begun a transaction on a connection of a [Database], which keeps others
	// from writing for longer than they wait; "" if there is none.
	Held string
	// Still is what stands still of the durable consumers that this process polls, by their names, while other parts
	// are handled.
	Still map[string][]event.Stalled
}

// WriteFault remembers how the last write has ended. Its zero value says that all is well.
type WriteFault struct{ now atomic.Pointer[writeFault] }

type writeFault struct {
	err   *event.StorageError
	since time.Time
	bytes int // of the smallest write that found no space
}

// Fails reports whether the last write that says something has failed. It costs next to nothing.
func (w *WriteFault) Fails() bool { return w.now.Load() != nil }

// Note is told how a write of so many bytes has ended. Errors that are no *[event.StorageError] say nothing about the
// storage. On a full disk small writes may succeed while others are refused: those do not count.
func (w *WriteFault) Note(err error, bytes int) {
	was := w.now.Load()
	if err == nil {
		if was != nil && (was.err.Fault != event.DiskFull || bytes >= was.bytes) {
			w.now.Store(nil)
		}
		return
	}
	if stored, ok := errors.AsType[*event.StorageError](err); ok {
		next := &writeFault{err: stored, since: time.Now(), bytes: bytes}
		if was != nil {
			next.since, next.bytes = was.since, min(was.bytes, bytes)
		}
		w.now.Store(next)
	}
}

// Now returns the error of the last write, since when all fail, and for how many bytes there is no space; nil if it did
// not.
func (w *WriteFault) Now() (err *event.StorageError, since time.Time, bytes int) {
	if f := w.now.Load(); f != nil {
		return f.err, f.since, f.bytes
	}
	return nil, time.Time{}, 0
}
