package sqlite

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// faults are what keeps this process from writing.
type faults struct {
	engine.WriteFault
	claims *claims.File

	mu   sync.Mutex
	told uint16 // what the claims say of it
}

// noteWrite remembers how a transaction has ended. One that had nothing to write says nothing about the disk, nor does
// what is too long to be written.
func (f *faults) noteWrite(err error, requests []*request, wrote bool) {
	if err == nil && !(wrote && f.Fails()) || errors.Is(err, fault.ErrNoMemory) || errors.Is(err, sqlite3.TOOBIG) {
		return
	}
	bytes := 0
	for _, r := range requests {
		bytes += sizeOf(r.events)
	}
	f.Note(err, bytes)
	f.tell()
}

// told are the faults that the claims have numbers for, from 1 on. The numbers are in files.
var told = []engine.Fault{engine.DiskFull, engine.ReadOnly, engine.IO, engine.Busy, engine.Corrupt, engine.Replaced}

// tell lets the claims say what keeps this process from writing, to those who look at the file from outside.
// The file itself cannot say it.
func (f *faults) tell() {
	f.mu.Lock()
	defer f.mu.Unlock()
	number := 0
	if err, _, _ := f.Now(); err != nil {
		if number = slices.Index(told, err.Fault) + 1; number == 0 {
			number = slices.Index(told, engine.IO) + 1
		}
	}
	if uint16(number) != f.told {
		f.told = uint16(number)
		f.claims.SetFault(f.told)
	}
}

// faultOf is what such a number stands for. One of a newer program is some fault.
func faultOf(number uint16) engine.Fault {
	switch {
	case number == 0:
		return ""
	case int(number) > len(told):
		return engine.IO
	}
	return told[number-1]
}

const (
	// tryTime is how long Health tries to write.
	tryTime = 2 * database.BusyTimeout
	// tryBytes is how much space there must be beyond that for the write that was refused: it was pages, in two files.
	tryBytes = 64 << 10
)

// Health implements [engine.HealthReporter].
func (l *Log) Health(ctx context.Context) (h engine.LogHealth, err error) {
	h.Unwritable, h.Since = l.cannotWrite(ctx)
	h.Held, _, _ = l.gate.by.tooLong(false)
	return h, nil
}

// cannotWrite returns the error of the last write, and since when such writes fail. While nobody publishes, only a write
// of its own tells whether there is space again.
func (l *Log) cannotWrite(ctx context.Context) (*engine.StorageError, time.Time) {
	err, since, bytes := l.faults.Now()
	if err == nil || err.Fault == engine.DiskFull && l.vfs == "" && !hasRoom(filepath.Dir(l.path), 2*bytes+tryBytes) {
		return err, since
	}
	ctx, end := context.WithTimeout(ctx, tryTime)
	defer end()
	failed := l.writer.doSynced(ctx, (*database.Conn).Rewrite)
	if failed != nil {
		return err, since
	}
	l.faults.Note(nil, math.MaxInt)
	l.faults.tell()
	return nil, time.Time{}
}

// hasRoom reports whether so many bytes can be written in a folder. Quotas and reserved blocks count, which the number
// of free bytes does not tell.
func hasRoom(folder string, bytes int) bool {
	f, err := os.CreateTemp(folder, "busgen-*.tmp")
	if err != nil {
		return false
	}
	defer os.Remove(f.Name()) // where an open file cannot be removed
	defer f.Close()
	os.Remove(f.Name())
	for zeros := make([]byte, tryBytes); bytes > 0 && err == nil; bytes -= len(zeros) {
		_, err = f.Write(zeros)
	}
	return err == nil && f.Sync() == nil
}
