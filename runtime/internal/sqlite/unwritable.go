package sqlite

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// noteWrite remembers how a transaction has ended. One that had nothing to write says nothing about the disk, nor does
// what is too long to be written.
func (w *writer) noteWrite(err error, requests []*request, wrote bool) {
	noted := &w.log.unwritable
	if err == nil && !(wrote && noted.Fails()) || errors.Is(err, fault.ErrNoMemory) || errors.Is(err, sqlite3.TOOBIG) {
		return
	}
	bytes := 0
	for _, r := range requests {
		bytes += sizeOf(r.events)
	}
	noted.Note(err, bytes)
	w.log.tellUnwritable()
}

// told are the faults that the claims have numbers for, from 1 on. The numbers are in files.
var told = []event.Fault{event.DiskFull, event.ReadOnly, event.IO, event.Busy, event.Corrupt, event.Replaced}

// tellUnwritable lets the claims say what keeps this process from writing, to those who look at the file from outside.
// The file itself cannot say it.
func (l *Log) tellUnwritable() {
	l.telling.Lock()
	defer l.telling.Unlock()
	number := 0
	if err, _, _ := l.unwritable.Now(); err != nil {
		if number = slices.Index(told, err.Fault) + 1; number == 0 {
			number = slices.Index(told, event.IO) + 1
		}
	}
	if uint16(number) != l.told {
		l.told = uint16(number)
		l.claims.SetFault(l.told)
	}
}

// faultOf is what such a number stands for. One of a newer program is some fault.
func faultOf(number uint16) event.Fault {
	switch {
	case number == 0:
		return ""
	case int(number) > len(told):
		return event.IO
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
	h.Held, _, _ = l.writer.gate.by.tooLong(false)
	return h, nil
}

// cannotWrite returns the error of the last write, and since when such writes fail. While nobody publishes, only a write
// of its own tells whether there is space again.
func (l *Log) cannotWrite(ctx context.Context) (*event.StorageError, time.Time) {
	err, since, bytes := l.unwritable.Now()
	if err == nil || err.Fault == event.DiskFull && l.vfs == "" && !hasRoom(filepath.Dir(l.path), 2*bytes+tryBytes) {
		return err, since
	}
	ctx, end := context.WithTimeout(ctx, tryTime)
	defer end()
	failed := l.writer.doSynced(ctx, (*database.Conn).Rewrite)
	if failed != nil {
		return err, since
	}
	l.unwritable.Note(nil, math.MaxInt)
	l.tellUnwritable()
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
