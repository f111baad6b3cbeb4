package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/goroutine"
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

// gate lets one write who is in this process: the writer, or one connection of the program.
// SQLite would see to that, too, but who waits for its lock asks again and again, and may never
// be lucky. Here the writer waits for one transaction of the program at most. While the program
// has no connections, nobody comes by.
type gate struct {
	path   string
	used   atomic.Bool         // the program has had a connection
	line   chan struct{}       // holds a token: the connection that has it is next
	pass   chan struct{}       // holds a token: whoever has it writes
	holder atomic.Uint64       // the goroutine of the program that has begun to write; 0 for none
	inside atomic.Pointer[run] // the function of the program that runs within the writer's transaction; nil for none
	by     writing

	entered bool // the writer has pass; under its turn

	// What the connections of the program leave to the writer.
	published atomic.Bool  // there are new events
	pages     atomic.Int64 // the write-ahead log has so many, and they have made it long; else 0
	doubtful  atomic.Bool  // the disk has failed one of them
}

// writing is who of the program writes, so that it can be named if it takes too long.
type writing struct {
	mu      sync.Mutex
	since   time.Time // zero if nobody does
	callers [maxCallers]uintptr
	depth   int
	told    bool // by the log
}

// maxCallers is how far a caller is looked for: behind database/sql and a library or two.
const maxCallers = 48

func (w *writing) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since, w.told = time.Now(), false
	w.depth = runtime.Callers(3, w.callers[:])
}

func (w *writing) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Time{}
}

// patience is how long others wait for who writes, all in all. Who comes later waits for the rest of that.
func (w *writing) patience() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		return database.BusyTimeout
	}
	return max(database.BusyTimeout-time.Since(w.since), leastPatience)
}

// leastPatience keeps those who try again and again from doing nothing else.
const leastPatience = 50 * time.Millisecond

// tooLong returns the line of the program that has begun what takes longer than others wait for it; "" if nothing does.
// With tell it also says whether the log has to name it.
func (w *writing) tooLong(tell bool) (line string, since time.Time, news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() || time.Since(w.since) < database.BusyTimeout {
		return "", time.Time{}, false
	}
	news = tell && !w.told
	w.told = w.told || tell
	frames := runtime.CallersFrames(w.callers[:w.depth])
	for {
		frame, more := frames.Next()
		ours := strings.HasPrefix(frame.Function, "database/sql.") || strings.Contains(frame.Function, "busgen/runtime/internal/sqlite")
		if !ours || !more {
			return fmt.Sprintf("%s:%d", frame.File, frame.Line), w.since, news
		}
	}
}

func (g *gate) open(path string) {
	g.path, g.line, g.pass = path, make(chan struct{}, 1), make(chan struct{}, 1)
	g.line <- struct{}{}
	g.pass <- struct{}{}
}

// enter waits until a connection of the program, on this goroutine, may write. Closing ending makes it return errEnding.
func (g *gate) enter(ctx context.Context, ending <-chan struct{}) error {
	timer := time.NewTimer(database.BusyTimeout)
	defer timer.Stop()
	wait := func(token chan struct{}) error {
		select {
		case <-token:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-ending:
			return errEnding
		case <-timer.C:
			return g.errHeld()
		}
	}
	if err := wait(g.line); err != nil {
		return err
	}
	if err := wait(g.pass); err != nil {
		g.line <- struct{}{}
		return err
	}
	g.holder.Store(goroutine.Number())
	g.by.begin()
	return nil
}

// errEnding is the error of enter for a connection that is being closed.
var errEnding = errors.New("the connection is being closed")

func (g *gate) leave() {
	g.holder.Store(0)
	g.by.end()
	g.pass <- struct{}{}
	g.line <- struct{}{}
}

// errHeld says who writes for too long.
func (g *gate) errHeld() error {
	which := ""
	if line, since, _ := g.by.tooLong(false); line != "" {
		which = fmt.Sprintf(" begun by %s at %v,", line, since.UTC().Format(time.RFC3339))
	}
	return &event.StorageError{
		Fault: event.Busy, Op: "write", Path: g.path,
		Err: fmt.Errorf("a transaction of this program, of runtime.DB,%s has kept others from writing for more than %v (%w)",
			which, database.BusyTimeout, sqlite3.BUSY),
		Hint: "commit transactions soon or roll them back, and do not publish with the bus itself before that: use runtime.In",
	}
}

// admit waits until the writer may write.
func (g *gate) admit(logger *slog.Logger) error {
	timer := time.NewTimer(g.by.patience())
	defer timer.Stop()
	select {
	case <-g.pass:
		g.entered = true
		return nil
	case <-timer.C:
		if line, since, news := g.by.tooLong(true); news {
			logger.Error("a transaction of runtime.DB keeps all others from writing; nothing is stored before it is committed or rolled back",
				"begun_by", line, "since", since)
		}
		return g.errHeld()
	}
}

// tryAdmit is admit that waits for nothing.
func (g *gate) tryAdmit() bool {
	select {
	case <-g.pass:
		g.entered = true
	default:
	}
	return g.entered
}

// ended lets others write after a transaction of the writer.
func (g *gate) ended() {
	if g.entered {
		g.entered = false
		g.pass <- struct{}{}
	}
}

// within tells whether the goroutine that calls has begun a transaction that the writer would
// wait for.
func (g *gate) within() error {
	if holder := g.holder.Load(); holder != 0 && holder == goroutine.Number() {
		return errInOwn
	}
	return nil
}

// errInOwn is the error for who has begun a transaction of runtime.DB and writes beside it.
var errInOwn error = inOwn{errors.New("this goroutine has begun a transaction of runtime.DB that is still open, which the bus would wait for: " +
	"publish in it with runtime.In, or end it before")}

type inOwn struct{ error }

// Is makes the error match [engine.ErrInTx].
func (inOwn) Is(target error) bool { return target == engine.ErrInTx }
