package runtime

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"sync"

	"github.com/busgen/busgen/runtime/internal/engine"
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
