package sqlite

import (
	"errors"
	"log/slog"
	"sync/atomic"

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
	reader     reader
	gate       gate
	faults     faults
	trespasses trespasses

	owns       atomic.Bool                         // this process dispatches
	since      atomic.Int64                        // and has done so since this microsecond, as the row of owner says; 0 for never
	stopped    atomic.Pointer[engine.StorageError] // why the file cannot be used any more
	fenced     atomic.Pointer[engine.OwnedError]   // who dispatches in the place of this process
	generation atomic.Int64                        // grows when another log has taken its place
	changes    func(error)                         // is told what has become of the log
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
