package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/goroutine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/sqlapi"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// programs are the connections that the program has through database/sql. They are to the
// writer as those of other processes, but for three things: they take turns with it, it sees
// at once what they publish, and it keeps the write-ahead log short for them.
type programs struct {
	*ground
	writer   *writer
	ending   chan struct{}                 // closed when they end
	quiet    atomic.Pointer[chan struct{}] // is closed when they may begin to read again; nil if they may
	adopting func(ctx context.Context) func(r *engine.Record) error

	mu    sync.Mutex
	over  error // what they return when they have ended; nil before
	conns map[*sqlapi.Conn]struct{}
}

var _ sqlapi.File = (*programs)(nil)

func newPrograms(g *ground, w *writer) *programs {
	return &programs{ground: g, writer: w, ending: make(chan struct{}), conns: map[*sqlapi.Conn]struct{}{}}
}

// Connector implements [engine.Database].
func (l *Log) Connector(over error, adopting func(ctx context.Context) func(r *engine.Record) error) driver.Connector {
	l.programs.adopting = adopting
	return connector{l.programs, over}
}

// connector opens connections for a pool of database/sql. Closing the pool closes it, with all
// connections.
type connector struct {
	*programs
	over error
}

// Driver implements [driver.Connector]. Code asks a pool for it to tell its library.
func (c connector) Driver() driver.Driver { return c }

// Open implements [driver.Driver]. There is one file only.
func (c connector) Open(string) (driver.Conn, error) { return c.Connect(context.Background()) }

// Connect implements [driver.Connector].
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	conn, err := c.connect()
	if err != nil {
		return nil, fault.Wrap("open", c.path, err)
	}
	c.mu.Lock()
	over := c.programs.over
	if over == nil {
		c.conns[conn] = struct{}{}
	}
	c.mu.Unlock()
	if over != nil {
		conn.Close()
		return nil, c.over
	}
	return conn, nil
}

func (p *programs) connect() (*sqlapi.Conn, error) {
	if why := p.stopped.Load(); why != nil {
		return nil, why
	}
	p.gate.used.Store(true)
	db, err := database.ConnectBounded(p.path, p.vfs, sqlite3.OPEN_READWRITE)
	if err != nil {
		return nil, err
	}
	if err = db.SetFull(!p.unsynced); err == nil {
		var conn *sqlapi.Conn
		if conn, err = sqlapi.Own(db, guard(), p); err == nil {
			return conn, nil
		}
	}
	db.Close()
	return nil, err
}

// guard returns what keeps programs from the tables of the bus.
func guard() *sqlapi.Guard {
	return &sqlapi.Guard{Protected: tables.IsOurs, Outbox: "outbox", Trusted: "busgen_outbox"}
}

// Close implements [io.Closer].
func (c connector) Close() error { return c.end(c.over) }

// end closes all connections, also those that somebody uses. They return over then.
func (p *programs) end(over error) (err error) {
	p.mu.Lock()
	if p.over != nil {
		p.mu.Unlock()
		return nil
	}
	p.over = over
	close(p.ending)
	conns := p.conns
	p.conns = nil
	p.mu.Unlock()
	for conn := range conns {
		if shutErr := conn.Shut(over); err == nil {
			err = shutErr
		}
	}
	return err
}

// hush keeps them from beginning to read until resume is called.
func (p *programs) hush() (resume func()) {
	over := make(chan struct{})
	p.quiet.Store(&over)
	return func() {
		p.quiet.Store(nil)
		close(over)
	}
}

// Read implements [sqlapi.File].
func (p *programs) Read(ctx context.Context) error {
	over := p.quiet.Load()
	if over == nil {
		return nil
	}
	select {
	case <-*over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ending:
		return p.over
	}
}

// Lock implements [sqlapi.File].
func (p *programs) Lock(ctx context.Context) error {
	if why := p.stopped.Load(); why != nil {
		return why
	}
	if turn := p.gate.inside.Load(); turn != nil && turn.isAround(functionsAround()) {
		return engine.ErrInTx
	}
	err := p.gate.enter(ctx, p.ending)
	if err == errEnding {
		err = p.over
	}
	return err
}

// Unlock implements [sqlapi.File].
func (p *programs) Unlock(wrote, published bool, pages int) {
	p.gate.leave()
	if !wrote {
		return
	}
	if published {
		p.gate.published.Store(true)
	}
	if pages >= database.WALPages {
		p.gate.pages.Store(int64(pages))
	}
	if published || pages >= database.WALPages {
		p.writer.signal()
	}
}

// Check implements [sqlapi.File].
func (p *programs) Check(db *database.Conn) error { return p.trespasses.check(db) }

// Adopting implements [sqlapi.File].
func (p *programs) Adopting(ctx context.Context) sqlapi.Adopt { return p.adopting(ctx) }

// Adopt implements [sqlapi.File].
func (p *programs) Adopt(db *database.Conn, last int64, adopt sqlapi.Adopt) error {
	events, err := p.types.outboxSince(db, last)
	if err != nil {
		return err
	}
	for i := range events {
		r := &events[i].Record
		if err := adopt(r); err != nil {
			return err
		}
		if err := setMetadata(db, r); err != nil {
			return err
		}
	}
	return nil
}

// Doubt implements [sqlapi.File]: the writer repairs the file before it writes again.
func (p *programs) Doubt() { p.gate.doubtful.Store(true) }

// Left implements [sqlapi.File].
func (p *programs) Left(conn *sqlapi.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, conn)
}

var selectPublished = "SELECT seq, id, type, " + tables.Bounded("payload") + ", " + tables.Bounded("metadata") + ", created_at, due_at FROM busgen_log WHERE seq > ? ORDER BY seq"

// takeOutbox notes for the tail what a function of the program has published through the view
// outbox, in the transaction at hand. The log ended with the event last before that. Of its events, the first of which is at before, those that
// it has appended are known, and the others are read, and adopted: refused is the error of that.
func (b *batch) takeOutbox(last int64, before int, adopt func(r *engine.Record) error) (refused, err error) {
	if before > 0 {
		last = b.events[before-1].Seq
	}
	all, err := b.types.outboxSince(b.conn, last)
	if err != nil {
		return nil, err
	}
	own := b.events[before:]
	for i := range all {
		e := &all[i]
		if len(own) > 0 && own[0].Seq == e.Seq {
			*e = own[0]
			own = own[1:]
		} else if adopt == nil {
			continue
		} else if refused = adopt(&e.Record); refused != nil {
			return refused, nil
		} else if err = setMetadata(b.conn, &e.Record); err != nil {
			return nil, err
		}
	}
	known := len(b.events) - before
	b.events = append(b.events[:before], all...)
	if len(all) > known {
		err = b.noteExpress(b.events[before:])
	}
	return nil, err
}

// outboxSince reads the events that are newer than one.
func (t *typeTable) outboxSince(c *database.Conn, last int64) (all []logged, err error) {
	err = c.Query(selectPublished, func(s *sqlite3.Stmt) error {
		e := logged{typeID: s.ColumnInt64(2), Record: engine.Record{
			Seq: s.ColumnInt64(0), ID: database.UUID(s, 1), CreatedAt: database.Time(s, 5),
		}}
		if err := tables.ReadBounded(c, s, 3, &e.Record); err != nil {
			return err
		}
		if s.ColumnType(6) != sqlite3.NULL {
			e.Due = database.Time(s, 6)
		}
		all = append(all, e)
		return t.resolveWithin(c, e.typeID, &all[len(all)-1].Record)
	}, last)
	return all, err
}

// setMetadata changes the metadata of an event in the transaction that stores it.
func setMetadata(c *database.Conn, r *engine.Record) error {
	return c.Exec("UPDATE busgen_log SET metadata = ? WHERE seq = ?", string(r.Metadata), r.Seq)
}

// A call in the function of a part would wait for the writer, which waits for the function. The context does not tell
// such a call from others: it is the program's. But the stack of its goroutine does, because the call of the function is
// on it. To look at a stack takes a microsecond or more, so no call does that when it begins to wait. When a function has
// taken long, and again while it goes on, the writer has those look that wait for it: see [writer.recheck].

// running are the functions of parts that run in this process, for all logs, also those whose time is up. A stack does
// not say to which of them a call belongs. So a function that does not begin alone has the number of its goroutine, which
// takes longer to find out than a statement: at most one of them has none.
var running struct {
	sync.Mutex
	runs []*run
}

// begins says that the function is about to run.
func (t *run) begins() {
	running.Lock()
	defer running.Unlock()
	if len(running.runs) > 0 {
		t.goroutine = goroutine.Number()
	}
	running.runs = append(running.runs, t)
}

// ends says that the function has returned, or panicked.
func (t *run) ends() {
	running.Lock()
	defer running.Unlock()
	i := slices.Index(running.runs, t)
	running.runs = slices.Delete(running.runs, i, i+1)
}

// isAround tells whether the calling goroutine is in the function. It is in so many functions: see [functionsAround].
func (t *run) isAround(n int) bool {
	if n == 0 {
		return false
	}
	number := goroutine.Number()
	running.Lock()
	defer running.Unlock()
	for _, other := range running.runs {
		if other.goroutine == number {
			n--
		}
	}
	return slices.Contains(running.runs, t) && (t.goroutine == number || t.goroutine == 0 && n > 0)
}

// functionsAround returns in how many functions of parts the calling goroutine is.
func functionsAround() (n int) {
	callers := make([]uintptr, 64)
	got := runtime.Callers(1, callers)
	for got == len(callers) {
		callers = make([]uintptr, 2*len(callers))
		got = runtime.Callers(1, callers)
	}
	frames := runtime.CallersFrames(callers[:got])
	for more := true; more; {
		var frame runtime.Frame
		if frame, more = frames.Next(); frame.Function == callName {
			n++
		}
	}
	return n
}

// callName is how a stack names what calls the function of a part.
var callName = runtime.FuncForPC(reflect.ValueOf((*relay).call).Pointer()).Name()

// errRecheck is what a caller gets instead of an outcome when it has to look whether it is in a function.
var errRecheck = errors.New("look at the stack")

// recheck has those look that wait while the function of a run takes long. They leave the queue, so that nothing is
// stored of a call in the function, and all others queue again. Who is in no function looks once.
func (w *writer) recheck(t *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = slices.DeleteFunc(w.queue, func(r *request) bool {
		if r.outside {
			return false
		}
		r.pending, r.beside = false, t
		r.result <- errRecheck
		return true
	})
}

// requeue queues a request again, unless its caller is in the function for which it waits.
func (w *writer) requeue(ctx context.Context, r *request) error {
	n := functionsAround()
	if r.outside = n == 0; !r.outside && r.beside.isAround(n) {
		return engine.ErrInTx
	}
	return w.enqueue(ctx, r)
}
