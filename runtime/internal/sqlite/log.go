package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// FileFormat is the version of the tables that this engine writes.
const FileFormat = tables.SchemaVersion

// Log is an event log in one SQLite file. It implements [engine.Log]: each of its parts has some of the methods.
type Log struct {
	*ground
	writer *writer
	*consumers
	*owner
	*pauses
	*activity
	*relay
	*joiner
	*observer
	*upkeep
	*awaits
	programs *programs

	mu     sync.Mutex
	closed bool
}

var (
	_ engine.Log        = (*Log)(nil)
	_ engine.Awaiter    = (*Log)(nil)
	_ engine.Log        = (*Log)(nil)
	_ engine.StepKeeper = (*Log)(nil)
)

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
	write, err := tables.OpenWriter(options.Context, path, options.VFS)
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
	read, err := tables.OpenReader(path, options.VFS)
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
	g := &ground{
		path: path, program: options.Program, vfs: options.VFS, unsynced: options.Unsynced, logger: options.Logger,
		types: newTypeTable(), claims: claimed, changes: options.Changed,
		reader: reader{turn: make(chan struct{}, 1), conn: read},
	}
	g.reader.turn <- struct{}{}
	g.gate.open(path)
	g.faults.claims = claimed
	if g.clock.wall = options.Wall; g.clock.wall == nil {
		g.clock.wall = time.Now
	}
	g.clock.look()
	if g.logger == nil {
		g.logger = slog.New(slog.DiscardHandler)
	}
	l := newLog(g, write)
	if name := network(path); name != "" && options.VFS == "" {
		g.logger.Warn("the file is on a network file system, where it can be damaged; move it to a local disk", "path", path, "file_system", name)
	}
	err = g.read(func(c *database.Conn) error {
		last, err := c.Int64("SELECT max(seq) FROM busgen_log")
		g.tail.reset(last + 1)
		return errors.Join(err, g.types.load(c))
	})
	if err == nil {
		err = l.owner.lookout.learn()
	}
	if err == nil {
		err = g.trespasses.learn(write, g.logger)
	}
	if options.VFS == "" && file.Mounted(path) == "" {
		l.owner.files.index, _ = os.Stat(path + file.IndexSuffix)
		g.head = database.MapIndexHead(path)
	}
	if err != nil {
		g.head.Close()
		read.Close()
		write.Close()
		claimed.Close()
		return nil, fault.Wrap("read", path, err)
	}
	go l.writer.run()
	return l, nil
}

// newLog puts the parts of a log together.
func newLog(g *ground, write *database.Conn) *Log {
	w := newWriter(g, write)
	cs := &consumers{ground: g, writer: w}
	lo := &lookout{ground: g, writer: w, consumers: cs}
	l := &Log{
		ground: g, writer: w, consumers: cs, programs: newPrograms(g, w),
		pauses:   &pauses{ground: g, writer: w, consumers: cs, lookout: lo},
		activity: &activity{ground: g, writer: w},
		relay:    newRelay(g, w, lo),
		joiner:   &joiner{ground: g, lookout: lo},
		observer: &observer{ground: g, writer: w, consumers: cs, lookout: lo},
		upkeep:   &upkeep{ground: g, writer: w},
		awaits:   newAwaits(g, w, cs),
	}
	cs.awaits, w.batch.awaits, l.upkeep.awaits = l.awaits, l.awaits, l.awaits
	l.owner = &owner{
		ground: g, writer: w, consumers: cs, lookout: lo, files: &files{ground: g, writer: w},
		pauses: l.pauses, activity: l.activity, awaits: l.awaits,
	}
	w.content = &agenda{
		ground: g, writer: w, consumers: cs, lookout: lo, owner: l.owner, relay: l.relay, programs: l.programs,
	}
	write.Quiet = l.programs.hush
	return l
}

// network is replaced by tests.
var network = file.Network

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
	l.mu.Unlock()
	l.owner.stopGrowing()

	for _, c := range l.consumers.all() {
		c.stop()
	}
	endErr := l.programs.end(engine.ErrClosed)
	lasting := ctx != nil
	if lasting {
		defer context.AfterFunc(ctx, l.writer.hurry)()
	} else {
		ctx = context.Background()
	}
	l.activity.hide(ctx)
	l.awaits.close()
	err := l.writer.close(lasting)
	l.relay.close()
	if why := l.stopped.Load(); why != nil {
		err = why
		// What lies beside the name may belong to another file by now.
		l.owner.files.left()
	}
	release := l.claims.Release
	if err != nil {
		release = l.claims.Abandon // they say what the dispositions would have said
	}
	<-l.reader.turn
	defer func() { l.reader.turn <- struct{}{} }()
	err = errors.Join(err, endErr, l.reader.conn.Close(), l.writer.conn.Close(), l.head.Close(), release(), l.claims.Close())
	l.reader.conn = nil
	return fault.Wrap("close", l.path, err)
}

// Append implements [engine.Log].
func (l *Log) Append(ctx context.Context, records []engine.Record) error {
	if len(records) == 0 {
		return nil
	}
	r := l.writer.newRequest()
	defer l.writer.free(r)
	r.generation = l.generation.Load()
	r.events = l.types.number(r.events, records)
	if err := l.writer.submit(ctx, r); err != nil {
		return fault.Wrap("append to", l.path, err)
	}
	for i, e := range r.events {
		records[i].Seq, records[i].ID, records[i].Duplicate = e.Seq, e.ID, e.Duplicate
	}
	return nil
}

// Recognise implements [engine.Appender].
func (l *Log) Recognise(_ context.Context, records []engine.Record) error {
	now := time.Now()
	return fault.Wrap("read", l.path, l.read(func(c *database.Conn) error {
		for i := range records {
			if records[i].Dedupe == nil {
				continue
			}
			if err := recognise(c, &records[i], now); err != nil {
				return err
			}
		}
		return nil
	}))
}
