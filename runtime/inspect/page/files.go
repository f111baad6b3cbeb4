package page

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/inspect"
)

// files are what requests look into the file with. The methods of one [inspect.File] run one
// after the other, so each request has one for itself: a slow look of one tab does not hold
// up the other tabs. Between two looks each lets go of the file, so that a program that ends
// leaves no write-ahead log.
type files struct {
	first *inspect.File // the one the page was made with
	free  chan *inspect.File

	mu   sync.Mutex
	open int
}

const (
	// mostFiles is how many requests can look at the same time. Others wait.
	mostFiles = 4
	// patience is how long a request waits for a file before it opens another one, which
	// takes longer with some engines.
	patience = 20 * time.Millisecond
)

func newFiles(first *inspect.File) *files {
	f := &files{first: first, free: make(chan *inspect.File, mostFiles), open: 1}
	f.free <- first
	return f
}

// take returns a file that nobody else uses until it is given back.
func (f *files) take(ctx context.Context) (*inspect.File, error) {
	wait, end := context.WithTimeout(ctx, patience)
	defer end()
	select {
	case file := <-f.free:
		return file, nil
	case <-wait.Done():
	}
	if f.another() {
		file, err := f.first.As(ctx, f.first.Actor())
		if err != nil {
			f.mu.Lock()
			f.open--
			f.mu.Unlock()
		}
		return file, err
	}
	select {
	case file := <-f.free:
		return file, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// another tells whether one more file may be opened.
func (f *files) another() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == mostFiles {
		return false
	}
	f.open++
	return true
}

// give takes a file back.
func (f *files) give(file *inspect.File) {
	_ = file.Release() // the next look opens it again, and says what is wrong
	f.free <- file
}

// close waits for the files that are in use, and closes those that were opened here.
func (f *files) close() (err error) {
	f.mu.Lock()
	open := f.open
	f.open = mostFiles // no more are opened
	f.mu.Unlock()
	for range open {
		if file := <-f.free; file != f.first {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}

// file is what the request looks into the file with. For changes there is act.
func (q *request) file() *inspect.File {
	if q.looks == nil {
		taken, err := q.page.files.take(q.Context())
		if err != nil {
			return q.page.file // which says the same
		}
		q.looks = taken
	}
	return q.looks
}

// giveBack ends the use of the file.
func (q *request) giveBack() {
	if q.looks != nil {
		q.page.files.give(q.looks)
		q.looks = nil
	}
}
