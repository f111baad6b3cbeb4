// Package looks is how a page looks into a file: with [Files] for several requests at a time, with counts that are
// [Kept] while counting takes long, and with [Rates] and trends between two looks.
package looks

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/inspect"
)

// Files are what requests look into the file with. The methods of one [inspect.File] run one
// after the other, so each request has one for itself: a slow look of one tab does not hold
// up the other tabs. Between two looks each lets go of the file, so that a program that ends
// leaves no write-ahead log.
type Files struct {
	ctx   context.Context
	first *inspect.File // the one the page was made with
	free  chan *inspect.File

	mu     sync.Mutex
	open   int
	closed bool // Close waits for those that are open
}

const (
	// mostFiles is how many requests can look at the same time. Others wait.
	mostFiles = 4
	// patience is how long a request waits for a file before it opens another one, which
	// takes longer with some engines.
	patience = 20 * time.Millisecond
)

// NewFiles makes the files of a page, which counts by itself until the context ends.
func NewFiles(ctx context.Context, first *inspect.File) *Files {
	f := &Files{ctx: ctx, first: first, free: make(chan *inspect.File, mostFiles), open: 1}
	f.free <- first
	return f
}

// Take returns a file that nobody else uses until it is given back.
func (f *Files) Take(ctx context.Context) (*inspect.File, error) {
	wait, end := context.WithTimeout(ctx, patience)
	defer end()
	select {
	case file := <-f.free:
		return f.taken(file)
	case <-wait.Done():
	}
	if f.another() {
		file, err := f.first.As(ctx, f.first.Actor())
		if err != nil {
			f.notOpened()
		}
		return file, err
	}
	select {
	case file := <-f.free:
		return f.taken(file)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// taken returns a file that was free. What Close waits for is none.
func (f *Files) taken(file *inspect.File) (*inspect.File, error) {
	if file == nil {
		f.free <- nil
		return nil, context.Canceled
	}
	return file, nil
}

// another tells whether one more file may be opened.
func (f *Files) another() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == mostFiles {
		return false
	}
	f.open++
	return true
}

// notOpened says that another file could not be opened, to Close if that waits for it.
func (f *Files) notOpened() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		f.free <- nil
	} else {
		f.open--
	}
}

// Give takes a file back.
func (f *Files) Give(file *inspect.File) {
	_ = file.Release() // the next look opens it again, and says what is wrong
	f.free <- file
}

// Close waits for the files that are in use, and closes those that were opened here.
func (f *Files) Close() (err error) {
	f.mu.Lock()
	open := f.open
	f.open, f.closed = mostFiles, true // no more are opened
	f.mu.Unlock()
	for range open {
		if file := <-f.free; file != nil && file != f.first {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}
