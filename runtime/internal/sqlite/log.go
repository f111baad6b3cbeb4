package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"os"
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
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
)

// Log is an event log in one SQLite file. It implements [engine.Log].
type Log struct {
	path    string
	tail    tail
	program string
	types   *typeTable
	claims  *claims.File
	writer  *writer
	waiters waiters
	vfs     string // the file layer that was asked for

	programs *programs

	unwritable engine.WriteFault
	telling    sync.Mutex
	told       uint16 // what the claims say of it

	arrivals waiters // that wait for events to be appended
	kept     kept    // by Prune
	undone   int64   // the last entry of the audit that readUndone has seen

	stopped    atomic.Pointer[event.StorageError] // why the file cannot be used any more
	fenced     atomic.Pointer[event.OwnedError]   // who dispatches in the place of this process
	generation atomic.Int64                       // grows when another log has taken its place
	again      atomic.Bool                        // this process has the owner's lock, and another log than it took over
	index      os.FileInfo                        // of the write-ahead log; nil for one in memory
	changes    func(error)                        // is told what has become of the log
	clock      clock

	reading chan struct{} // holds a token; whoever has taken it uses reader. SQLite may sleep meanwhile
	reader  *database.Conn

	mu        sync.Mutex
	consumers []*consumer
	grown     *time.Timer // says when this process has dispatched for long; nil before it does
	closed    bool

	showing activity

	pausing  sync.Mutex // held while watchers are told
	pauses   []engine.Pause
	watchers []func([]engine.Pause)
}

var _ engine.Log = (*Log)(nil)

// Options tune how a file is opened. The zero value is right for programs.
type Options struct {
	// Context ends the opening, which waits while another process locks the
	// file. Nil for never.
	Context context.Context
	// VFS names the driver's file layer to use, for tests that make it fail.
	VFS string
	// Logger is told when dispositions cannot be written, and when they can again.
	// Nil for nobody.
	Logger *slog.Logger
	// Unsynced leaves events to the operating system instead of the disk.
	Unsynced bool
	// Changed is told, on a goroutine of its own, that the log is not what it was:
	// engine.ErrRestored, or why this process no longer dispatches. Nil for nobody.
	Changed func(error)
	// Wall is the wall clock, for tests that set it. Nil for that of the machine.
	Wall func() time.Time
	// Program is what operators call this process.
	Program string

	labelled bool // the file may have a label
}

// Engine opens logs in SQLite files. It implements [engine.Engine].
type Engine struct{}

// Open implements [engine.Engine]. The target is the path of a file.
func (Engine) Open(ctx context.Context, target string, o engine.Options) (engine.Log, error) {
	l, err := Open(target, Options{
		Context: ctx, Logger: o.Logger, Unsynced: o.Unsynced, Changed: o.Changed, Wall: o.Wall, Program: o.Program,
	})
	if err != nil {
		return nil, err // and not a nil *Log in an interface
	}
	return l, nil
}

// Open opens the log in the file at path, creating it when there is none. A
// file of another program, or of a newer version of this one, is refused and
// left as it is.
func Open(path string, options Options) (*Log, error) {
	if path == "" || path == ":memory:" {
		return nil, errors.New("an event log needs a file: events kept in memory would be lost with the process")
	}
	if options.Context == nil {
		options.Context = context.Background()
	}
	write, err := openWriter(options.Context, path, options.VFS)
	if err != nil {
		return nil, err
	}
	if !options.labelled {
		if err := refuseLabelled(write); err != nil {
			write.Close()
			return nil, fault.Wrap("open", path, err)
		}
	}
	path = write.Path
	read, err := openReader(path, options.VFS)
	if err != nil {
		write.Close()
		return nil, err
	}
	claimed, err := claims.Open(path, options.VFS)
	if err != nil {
		read.Close()
		write.Close()
		return nil, err
	}
	l := &Log{path: path, reading: make(chan struct{}, 1), reader: read, claims: claimed, program: options.Program, vfs: options.VFS}
	l.programs = newPrograms(l)
	l.reading <- struct{}{}
	l.changes = options.Changed
	if l.clock.wall = options.Wall; l.clock.wall == nil {
		l.clock.wall = time.Now
	}
	l.clock.look()
	l.types = newTypeTable(l)
	l.writer = newWriter(l, write)
	l.writer.unsynced = options.Unsynced
	write.Quiet = l.programs.hush
	if l.writer.logger = options.Logger; l.writer.logger == nil {
		l.writer.logger = slog.New(slog.DiscardHandler)
	}
	if name := network(path); name != "" && options.VFS == "" {
		l.writer.logger.Warn("the file is on a network file system, where it can be damaged; move it to a local disk", "path", path, "file_system", name)
	}
	err = l.read(func(c *database.Conn) error {
		last, err := c.Int64("SELECT max(seq) FROM busgen_log")
		l.tail.reset(last + 1)
		return errors.Join(err, l.types.load(c))
	})
	if err == nil {
		err = l.writer.learn()
	}
	if err == nil {
		err = l.writer.learnTrespasses()
	}
	if options.VFS == "" && file.Mounted(path) == "" {
		l.index, _ = os.Stat(path + file.IndexSuffix)
		l.writer.head = database.MapIndexHead(path)
	}
	if err != nil {
		l.writer.head.Close()
		read.Close()
		write.Close()
		claimed.Close()
		return nil, fault.Wrap("read", path, err)
	}
	go l.writer.run()
	return l, nil
}

// network is replaced by tests.
var network = file.Network

// read runs f with the connection that reads.
func (l *Log) read(f func(c *database.Conn) error) error {
	<-l.reading
	defer func() { l.reading <- struct{}{} }()
	if l.reader == nil {
		return engine.ErrClosed
	}
	if why := l.stopped.Load(); why != nil {
		return why
	}
	err := f(l.reader)
	if errors.Is(err, fault.ErrNoMemory) {
		l.reader.Renew() // for the next; the error says enough
	}
	return err
}

// add takes a consumer in, in place of an earlier one of the same name, whose
// places in the claims file it inherits.
func (l *Log) add(c *consumer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	consumers := make([]*consumer, 0, len(l.consumers)+1)
	for _, other := range l.consumers {
		if other.name == c.name {
			other.stop()
			c.workers = other.yield()
			continue
		}
		consumers = append(consumers, other)
	}
	l.consumers = append(consumers, c)
}

// yield ends the consumer for another one in its place. It gives the places in the
// claims file away, except those of handlers that were left behind and still run.
func (c *consumer) yield() (places []*claims.Place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	places, c.workers, c.replaced = c.workers, nil, true
	return slices.DeleteFunc(places, (*claims.Place).Busy)
}

// all returns the consumers; the slice is never changed.
func (l *Log) all() []*consumer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.consumers
}

// appended wakes the consumers that have something new to poll. It runs on
// the writer's goroutine.
func (l *Log) appended(events []logged) {
	if len(events) == 0 {
		return
	}
	if l.arrivals.any() {
		l.arrivals.all()
	}
	all := l.all()
	due := l.delayedFor(events, len(all))
	for _, c := range all {
		at, delayed := due[c.id]
		if !delayed {
			at = never
		}
		c.call(at)
	}
}

// delayedFor returns when the first of the delayed events is due, by the subscriptions that have
// a delivery of one. If it cannot be known, these are all of the consumers.
func (l *Log) delayedFor(events []logged, consumers int) (due map[int64]int64) {
	var byType map[int64]int64
	for i := range events {
		if e := &events[i]; !e.Due.IsZero() {
			if byType == nil {
				byType, due = map[int64]int64{}, make(map[int64]int64, consumers)
			}
			at, known := byType[e.typeID]
			if !known {
				at = never
			}
			byType[e.typeID] = min(at, e.Due.UnixMicro())
		}
	}
	note := func(subscription, at int64) {
		if before, known := due[subscription]; !known || at < before {
			due[subscription] = at
		}
	}
	for typeID, at := range byType {
		err := l.writer.conn.Query("SELECT subscription FROM busgen_routes WHERE type = ?", func(s *sqlite3.Stmt) error {
			note(s.ColumnInt64(0), at)
			return nil
		}, typeID)
		if err != nil {
			for _, c := range l.all() {
				note(c.id, at)
			}
		}
	}
	return due
}

// refresh takes in what other processes have written: events, names of types,
// redriven dead letters, settled deliveries. It runs on the writer's goroutine. After
// an error it is called again with the next look.
func (l *Log) refresh(c *database.Conn) error {
	last, err := c.Int64("SELECT max(seq) FROM busgen_log")
	if err != nil {
		return err
	}
	if last+1 != l.tail.end() {
		l.tail.reset(last + 1)
	}
	if err := l.types.load(c); err != nil {
		return err
	}
	if err := l.tellRequests(c); err != nil {
		return err
	}
	asked, old, err := l.readSteering(c)
	if err != nil {
		return err
	}
	if (len(asked) > 0 || old) && l.writer.owns.Load() {
		go l.answer(context.Background(), asked) // which needs the writer
	}
	for _, consumer := range l.all() {
		consumer.recheck()
	}
	l.wakeAll()
	return nil
}

// Flush implements [engine.Log].
func (l *Log) Flush(ctx context.Context) error {
	l.writer.hasten()
	err := l.writer.do(ctx, nil) // in the same transaction
	return fault.Wrap("write", l.path, err)
}

// LetGo implements [engine.Dispatcher]. The other processes have to wait for the whole log.
func (l *Log) LetGo(ctx context.Context, _ engine.Consumer) error { return l.Flush(ctx) }

// Traits implements [engine.Log]. A key is computed again from the payload,
// which is in the same file: that costs publishers nothing and the file no bytes, and
// events that were published before partition_by was changed follow the new one.
func (l *Log) Traits() engine.Traits { return engine.Traits{Target: l.path} }

// Close is CloseWithin that tries once to write what is pending.
func (l *Log) Close() error { return l.CloseWithin(nil) }

// CloseWithin implements [engine.Log].
func (l *Log) CloseWithin(ctx context.Context) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	if l.grown != nil {
		l.grown.Stop()
	}
	l.mu.Unlock()

	for _, c := range l.all() {
		c.stop()
	}
	endErr := l.programs.end(engine.ErrClosed)
	lasting := ctx != nil
	if lasting {
		defer context.AfterFunc(ctx, l.writer.hurry)()
	} else {
		ctx = context.Background()
	}
	l.hide(ctx)
	err := l.writer.close(lasting)
	if why := l.stopped.Load(); why != nil {
		err = why
		// What lies beside the name may belong to another file by now.
		l.leaveFiles()
	}
	release := l.claims.Release
	if err != nil {
		release = l.claims.Abandon // they say what the dispositions would have said
	}
	<-l.reading
	defer func() { l.reading <- struct{}{} }()
	err = errors.Join(err, endErr, l.reader.Close(), l.writer.conn.Close(), l.writer.head.Close(), release(), l.claims.Close())
	l.reader = nil
	return fault.Wrap("close", l.path, err)
}
