package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/event"
)

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
