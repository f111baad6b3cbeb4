package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// ground is what all parts of a [Log] share. Each of its fields is set once, or safe for concurrent use.
type ground struct {
	path     string
	program  string // what operators call this process
	vfs      string // the file layer that was asked for
	unsynced bool   // events are left to the operating system
	logger   *slog.Logger

	types      *typeTable
	claims     *claims.File
	head       *database.IndexHead // nil where it cannot be mapped
	tail       tail
	waiters    waiters // for deliveries to be settled
	arrivals   waiters // for events to be appended
	clock      clock
	steps      stepsKnown
	reader     reader
	gate       gate
	faults     faults
	trespasses trespasses

	owns       atomic.Bool                        // this process dispatches
	since      atomic.Int64                       // and has done so since this microsecond, as the row of owner says; 0 for never
	stopped    atomic.Pointer[event.StorageError] // why the file cannot be used any more
	fenced     atomic.Pointer[event.OwnedError]   // who dispatches in the place of this process
	generation atomic.Int64                       // grows when another log has taken its place
	changes    func(error)                        // is told what has become of the log
}

// reader is the connection that reads.
type reader struct {
	turn chan struct{}  // holds a token; whoever has taken it uses conn. SQLite may sleep meanwhile
	conn *database.Conn // nil once it is closed
}

// read runs f with the connection that reads.
func (g *ground) read(f func(c *database.Conn) error) error {
	<-g.reader.turn
	defer func() { g.reader.turn <- struct{}{} }()
	if g.reader.conn == nil {
		return engine.ErrClosed
	}
	if why := g.stopped.Load(); why != nil {
		return why
	}
	err := f(g.reader.conn)
	if errors.Is(err, fault.ErrNoMemory) {
		g.reader.conn.Renew() // for the next; the error says enough
	}
	return err
}

// valueOf returns what is read with the connection that reads.
func valueOf[T any](g *ground, read func(c *database.Conn) (T, error)) (value T, err error) {
	err = g.read(func(c *database.Conn) (err error) {
		value, err = read(c)
		return err
	})
	return value, err
}

// why returns why consumers have ended.
func (g *ground) why() error {
	if why := g.stopped.Load(); why != nil {
		return why
	}
	if owned := g.fenced.Load(); owned != nil {
		return owned
	}
	return engine.ErrRestored
}

// tell says that the log is not what it was, to whoever wants to know. It does not
// wait: that one needs the writer.
func (g *ground) tell(what error) {
	if g.changes != nil {
		go g.changes(what)
	}
}

// wakeAll wakes everyone who waits for deliveries or events: another process has
// written, or the log is not what it was.
func (g *ground) wakeAll() {
	g.waiters.all()
	g.arrivals.all()
}

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
var told = []event.Fault{event.DiskFull, event.ReadOnly, event.IO, event.Busy, event.Corrupt, event.Replaced}

// tell lets the claims say what keeps this process from writing, to those who look at the file from outside.
// The file itself cannot say it.
func (f *faults) tell() {
	f.mu.Lock()
	defer f.mu.Unlock()
	number := 0
	if err, _, _ := f.Now(); err != nil {
		if number = slices.Index(told, err.Fault) + 1; number == 0 {
			number = slices.Index(told, event.IO) + 1
		}
	}
	if uint16(number) != f.told {
		f.told = uint16(number)
		f.claims.SetFault(f.told)
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
	h.Held, _, _ = l.gate.by.tooLong(false)
	return h, nil
}

// cannotWrite returns the error of the last write, and since when such writes fail. While nobody publishes, only a write
// of its own tells whether there is space again.
func (l *Log) cannotWrite(ctx context.Context) (*event.StorageError, time.Time) {
	err, since, bytes := l.faults.Now()
	if err == nil || err.Fault == event.DiskFull && l.vfs == "" && !hasRoom(filepath.Dir(l.path), 2*bytes+tryBytes) {
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
