package runtime

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/outbox"
	"github.com/busgen/busgen/runtime/transact"
)

// DB returns the file of the bus as a [sql.DB]: to read, for schemas, and for transactions that
// do not suit [Transact], because they take long or somebody else's code begins them. It is always
// the same one, and opens connections when they are needed. They are configured like those of the
// bus: write-ahead log, foreign keys on, synced commits (unless [WithDurability] says otherwise),
// and waiting for up to 5 s for the lock of another process. The driver is the bus's own: none is
// registered with database/sql, and values are stored and read as in a [Tx].
//
// Transactions are serializable; other levels of isolation are refused. One that is begun with
// [sql.TxOptions.ReadOnly] is a snapshot of the file, and holds up nobody. Any other begins with BEGIN
// IMMEDIATE, so that it does not fail halfway because somebody else has written; from then to
// its end no other transaction writes. The writers of this process, the bus too, take turns. While it is open for more
// than 5 s, they give up with a *[event.StorageError] whose Fault is Busy; the error, the log and the health check
// [observe.CheckHeld] name the line that has begun it. So read and compute before, and be short.
//
// Events are published in a transaction with [In], or with INSERT INTO outbox, also by a
// trigger. The bus delivers them right after the commit. A statement that is given the context of a handler
// publishes children of its event; it fails with a *[HopLimitError] if they are too far from their root. Publishing with the bus itself, or [Transact],
// on the goroutine that has begun to write would wait for that transaction: it returns [transact.ErrInTx] at once. So
// does a statement that writes in the function of a [Transact].
//
// The tables of the bus can be read. Statements that would change them, or how the file is kept, are
// refused with a *[event.ProtectedError]; the names of these tables, and all that begin with busgen_, are
// taken. What a statement changes of its connection (PRAGMA foreign_keys, ATTACH, temporary tables)
// lasts until the connection is given back: use [sql.DB.Conn] for that. A transaction that is still open
// then is rolled back.
//
// When a statement that writes is interrupted, because its context ends, SQLite rolls back its whole
// transaction. The next statement, and Commit, say so.
//
// There are 16 connections at most, of which 4 stay open ([sql.DB.SetMaxOpenConns], [sql.DB.SetMaxIdleConns]);
// who needs one more waits. [Bus.Shutdown] closes the DB, when the handlers have ended: statements are
// interrupted, transactions rolled back, and what was open returns [ErrShutdown]. There is no need to
// close it. A bus whose DB is in use is not closed before its Shutdown, even if nothing refers to it.
//
// If the engine of the bus has no tables ([WithEngine]), whatever needs a connection returns an
// error that matches [errors.ErrUnsupported].
func DB(bus *Bus) *sql.DB { return busOf(bus).db() }

func (b *innerBus) db() *sql.DB {
	d := &b.database
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pool == nil {
		d.pool = sql.OpenDB(b.connector())
		d.pool.SetMaxOpenConns(16)
		d.pool.SetMaxIdleConns(4)
		if d.closed {
			d.pool.Close()
		}
	}
	return d.pool
}

// database is what [DB] returns.
type database struct {
	mu     sync.Mutex
	pool   *sql.DB // nil before somebody wants it
	closed bool
}

func (d *database) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.pool == nil {
		return nil
	}
	return d.pool.Close()
}

func (b *innerBus) connector() driver.Connector {
	if log, ok := b.log.(engine.Database); ok {
		adopting := func(ctx context.Context) func(r *engine.Record) error { return b.adopting(b.attemptOf(ctx)) }
		return connector{log.Connector(ErrShutdown, adopting), b}
	}
	return noConnector{}
}

// connector keeps the bus while there is a pool.
type connector struct {
	driver.Connector
	bus *innerBus
}

// Close implements [io.Closer], for the pool.
func (c connector) Close() error { return c.Connector.(io.Closer).Close() }

// noConnector is that of an engine without tables.
type noConnector struct{}

func (noConnector) Connect(context.Context) (driver.Conn, error) {
	return nil, fmt.Errorf("open a database: %w", errNoTables)
}

func (noConnector) Driver() driver.Driver { return noConnector{} }

func (noConnector) Open(string) (driver.Conn, error) {
	return noConnector{}.Connect(context.Background())
}

// In returns a publisher whose events become part of a transaction that the program has begun
// itself, on a connection of its own to the file of the bus: they are stored when the program
// commits, together with its rows, and never if it rolls back. x is one of
//
//   - a *[database/sql.Tx], or a *[database/sql.Conn] with a transaction under way, of the
//     driver github.com/ncruces/go-sqlite3/driver
//   - a *sqlite3.Conn of github.com/ncruces/go-sqlite3 with a transaction under way
//
// A few milliseconds after the commit the bus delivers the events, if it dispatches; another
// process that does notices within 200 ms. All options of Publish work. Publishing
// returns without waiting for the disk, and its errors are those of [Publish], and
//
//   - *[event.JoinError]: x is nil, of another driver, or of another file; no transaction is under
//     way, or one that only reads. Nothing was written
//   - [errors.ErrUnsupported]: the bus keeps its events in something that has no tables ([WithEngine])
//   - the error of the driver, such as [database/sql.ErrTxDone]
//
// After an error the events of the call are not part of the transaction, which the program
// can go on with or roll back. [Receipt.Wait] returns [transact.ErrUncommitted] until the transaction is
// committed. Metrics and observers of the bus count the events when they are published, because
// nobody tells it what becomes of them.
//
// While the transaction is open after its first write, the bus cannot write, as for any
// writer of an SQLite file: it waits for up to 5 s, and publishers and functions of [Transact]
// with it. So begin with BEGIN IMMEDIATE, be short, and do not call the bus in between: [Publish]
// with the bus itself would wait for the transaction that waits for it. [Transact]
// has none of these limits, and is faster when many write.
//
// With the ctx of a handler the events are its children, but the transaction is one of its own:
// it is stored whatever becomes of the handler.
//
// A publisher is as safe for concurrent use as x is, and needs no closing. In itself never
// fails: what is wrong with x is the error of the first use.
func In(bus *Bus, x any) Publisher {
	if bus == nil {
		return nobody{}
	}
	return &joined{bus: busOf(bus), x: x}
}

// nobody is a publisher without a bus.
type nobody struct{}

func (nobody) target() (bus, tx any) { return nil, nil }

// joined publishes in a transaction of the program.
type joined struct {
	bus *innerBus
	x   any
}

func (j *joined) target() (bus, tx any) { return j.bus, j }

// append implements within.
func (j *joined) append(ctx context.Context, a *dispatch.Attempt, records []engine.Record) error {
	elsewhere, ok := j.x.(outbox.Joining)
	log, joins := j.bus.log.(engine.Joiner)
	if !ok && !joins {
		return fmt.Errorf("publish in a transaction of the program: %w: the engine of this bus has no tables; transactions need the file of the default engine", errors.ErrUnsupported)
	}
	if err := j.bus.accepts(); err != nil {
		return err
	}
	if a != nil {
		if err := a.Stage(ctx, nil); err != nil { // the attempt is over
			return err
		}
	}
	if ok {
		err := elsewhere.Join(ctx, j.bus.home(), records)
		if err != nil {
			return public(err)
		}
	} else if err := j.bus.makeRoom(len(records)); err != nil {
		return err
	} else if err := log.Join(ctx, j.x, records); err != nil {
		return public(err)
	}
	j.bus.published(records)
	return nil
}

// wait implements within.
func (j *joined) wait(ctx context.Context, r *Receipt) error {
	if elsewhere, ok := j.x.(outbox.Joining); ok {
		return elsewhere.Wait()
	}
	held, err := j.bus.log.(engine.Joiner).Holds(ctx, r.seq, r.ID)
	if err == nil && !held {
		err = transact.ErrUncommitted
	}
	return public(err)
}
