package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// WriteWatcher is a [Log] that knows whether it can be written.
type WriteWatcher interface {
	// CannotWrite returns the error of the last write, and since when such writes fail; nil if the last one did not, or
	// if one works that it tries now.
	CannotWrite(ctx context.Context) (err *StorageError, since time.Time)
}

// WriteFault remembers how the last write has ended. Its zero value says that all is well.
type WriteFault struct{ now atomic.Pointer[writeFault] }

type writeFault struct {
	err   *StorageError
	since time.Time
	bytes int // of the smallest write that found no space
}

// Fails reports whether the last write that says something has failed. It costs next to nothing.
func (w *WriteFault) Fails() bool { return w.now.Load() != nil }

// Note is told how a write of so many bytes has ended. Errors that are no *[StorageError] say nothing about the
// storage. On a full disk small writes may succeed while others are refused: those do not count.
func (w *WriteFault) Note(err error, bytes int) {
	was := w.now.Load()
	if err == nil {
		if was != nil && (was.err.Fault != DiskFull || bytes >= was.bytes) {
			w.now.Store(nil)
		}
		return
	}
	if stored, ok := errors.AsType[*StorageError](err); ok {
		next := &writeFault{err: stored, since: time.Now(), bytes: bytes}
		if was != nil {
			next.since, next.bytes = was.since, min(was.bytes, bytes)
		}
		w.now.Store(next)
	}
}

// Now returns the error of the last write, since when all fail, and for how many bytes there is no space; nil if it did
// not.
func (w *WriteFault) Now() (err *StorageError, since time.Time, bytes int) {
	if f := w.now.Load(); f != nil {
		return f.err, f.since, f.bytes
	}
	return nil, time.Time{}, 0
}
