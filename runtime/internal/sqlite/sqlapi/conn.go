package sqlapi

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// File is what a [Conn] has to tell those of this process who write to the same file.
type File interface {
	// Read waits while nobody may begin to read. It is called before what begins to.
	Read(ctx context.Context) error
	// Lock waits until nobody else of this process writes. It is called before the first
	// statement of a transaction that writes.
	Lock(ctx context.Context) error
	// Unlock is called when the transaction is over. wrote tells whether it was committed, and
	// published whether events are part of it; pages is how long the write-ahead log was then.
	Unlock(wrote, published bool, pages int)
	// Check is called when a statement may have made or changed a table. On an error that is taken
	// back.
	Check(db *database.Conn) error
	// Adopting returns what makes events children of the one whose handler a context belongs to; nil for none.
	Adopting(ctx context.Context) Adopt
	// Adopt does that with all events that are newer than one.
	Adopt(db *database.Conn, last int64, adopt Adopt) error
	// Doubt is called after a statement that the disk has failed.
	Doubt()
	// Left is called when the connection is closed.
	Left(c *Conn)
}

// Conn is a connection of a program's own, in a pool of database/sql. Transactions that write
// are begun with BEGIN IMMEDIATE: one that has begun does not fail because somebody else has
// written.
type Conn struct {
	*Session
	db     *database.Conn
	file   File
	mode   mode
	begun  time.Time // by BeginTx
	locked bool      // this connection writes, or may
}

// mode is what a transaction that BeginTx has begun may do.
type mode int

const (
	none mode = iota
	writes
	reads
)

var (
	_ driver.Conn            = (*Conn)(nil)
	_ driver.ConnBeginTx     = (*Conn)(nil)
	_ driver.SessionResetter = (*Conn)(nil)
	_ driver.Validator       = (*Conn)(nil)
)

// Own makes a connection one of a program's own. Closing the Conn closes it.
func Own(db *database.Conn, guard *Guard, file File) (*Conn, error) {
	shared, err := Share(db.Conn, guard)
	if err != nil {
		return nil, err
	}
	c := &Conn{Session: &Session{shared: shared}, db: db, file: file}
	c.own = c
	return c, nil
}

// BeginTx implements [driver.ConnBeginTx]. The transactions of SQLite are serializable. One that
// only reads is a snapshot of the moment when it begins.
func (c *Conn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	switch level := sql.IsolationLevel(options.Isolation); level {
	case sql.LevelDefault, sql.LevelSerializable:
	default:
		return nil, fmt.Errorf("the isolation level %s is not there: transactions of SQLite are serializable, so leave the level out", level)
	}
	err := c.with(ctx, func() error {
		if !c.shared.conn.GetAutocommit() {
			return errors.New("a transaction is under way on this connection")
		}
		if options.ReadOnly {
			return c.beginReading(&c.until)
		}
		if err := c.mayWrite(&c.until, false); err != nil {
			return err
		}
		return c.db.Exec("BEGIN IMMEDIATE")
	})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mode, c.begun = writes, time.Now()
	if options.ReadOnly {
		c.mode = reads
	}
	return transaction{c}, nil
}

// ReadsSince tells whether the connection reads a state of the file that keeps the write-ahead log from being emptied,
// and since when; zero if that cannot be known, as of rows that were not closed.
func (c *Conn) ReadsSince() (since time.Time, reads bool) {
	if !c.mu.TryLock() {
		return time.Time{}, true // a statement runs
	}
	defer c.mu.Unlock()
	if c.over != nil || c.db.TxnState("main") == sqlite3.TXN_NONE {
		return time.Time{}, false
	}
	if c.mode != none {
		since = c.begun
	}
	return since, true
}

func (c *Conn) beginReading(ctx context.Context) error {
	if err := c.file.Read(ctx); err != nil {
		return err
	}
	if err := c.db.Exec("BEGIN"); err != nil {
		return err
	}
	if _, err := c.db.Int64("PRAGMA user_version"); err != nil { // which takes the snapshot
		return errors.Join(err, c.rollback())
	}
	return nil
}

// mayWrite makes sure that a statement may run that only reads, or writes.
func (c *Conn) mayWrite(ctx context.Context, readsOnly bool) error {
	switch {
	case readsOnly && c.shared.conn.GetAutocommit():
		return c.file.Read(ctx)
	case readsOnly:
		return nil
	case c.mode == reads:
		return fmt.Errorf("the transaction was begun with ReadOnly (%w)", sqlite3.READONLY)
	case c.locked:
		return nil
	}
	if err := c.file.Lock(ctx); err != nil {
		return err
	}
	c.locked = true
	return nil
}

// settle lets others write once the transaction is over. failed says that the last statement did.
func (c *Conn) settle(failed bool) {
	if c.locked && c.shared.conn.GetAutocommit() {
		c.locked = false
		c.file.Unlock(!failed, c.published, c.db.PagesInWAL())
		c.published = false
	}
}

// checked runs a statement by step. It is taken back if the schema is not allowed after it, or an event
// that it has published.
func (c *Conn) checked(raw *sqlite3.Stmt, step func() error) error {
	m := c.shared.mark(raw)
	switch {
	case m.alters:
		return c.undoably(step, func() error { return c.file.Check(c.db) })
	case !m.publishes || c.adopt == nil:
		return step()
	}
	var last int64 // the newest event before it
	return c.undoably(func() (err error) {
		err = c.unguarded(func() (err error) {
			last, err = c.db.Int64("SELECT coalesce(max(seq), 0) FROM busgen_log")
			return err
		})
		if err != nil {
			return err
		}
		return step()
	}, func() error {
		return c.unguarded(func() error { return c.file.Adopt(c.db, last, c.adopt) })
	})
}

// unguarded runs statements of the bus within those of the program.
func (c *Conn) unguarded(f func() error) error {
	up := c.shared.guard.up
	c.shared.guard.up = false
	defer func() { c.shared.guard.up = up }()
	return f()
}

// undoably runs step and then check. If one of them fails, nothing of step is left.
func (c *Conn) undoably(step, check func() error) error {
	begin, end := "SAVEPOINT "+Savepoint, "RELEASE "+Savepoint
	alone := c.shared.conn.GetAutocommit()
	if alone {
		begin, end = "BEGIN IMMEDIATE", "COMMIT"
	}
	if err := c.db.Exec(begin); err != nil {
		return err
	}
	err := step()
	if err == nil {
		err = check()
	}
	if err == nil {
		err = c.db.Exec(end)
	}
	if err == nil || c.shared.conn.GetAutocommit() {
		return err
	}
	if alone {
		return errors.Join(err, c.rollback())
	}
	return errors.Join(err, c.db.Exec("ROLLBACK TO "+Savepoint), c.db.Exec(end))
}

// Join runs f, which stores events in the transaction that is under way, without the guard. ctx is
// none of the program: it is asked with the lock. The error is a *[event.JoinError] if there is none.
func (c *Conn) Join(ctx context.Context, f func(conn *sqlite3.Conn) error) error {
	return c.Do(func() error {
		if c.shared.conn.GetAutocommit() {
			return &event.JoinError{Problem: "no transaction is under way on the connection: begin one, or publish with the bus itself"}
		}
		if err := c.mayWrite(ctx, false); err != nil {
			return err
		}
		c.published = true
		return f(c.shared.conn)
	})
}

// transaction is one that BeginTx has begun.
type transaction struct{ c *Conn }

func (t transaction) Commit() error   { return t.c.end(true) }
func (t transaction) Rollback() error { return t.c.end(false) }

// errRolledBack is returned after a statement that has rolled back the transaction. Whatever ran
// now would be a transaction of its own.
var errRolledBack = errors.New("a statement before has rolled back this transaction, because it was interrupted or said so: begin another one")

func (c *Conn) end(commit bool) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return c.over
	}
	c.closeRows()
	switch {
	case !commit:
	case c.lost:
		err = errRolledBack
	case c.broken != nil:
		err = c.broken
	default:
		err = c.db.Exec("COMMIT")
	}
	c.mode, c.lost = none, false
	c.note(err)
	if rollbackErr := c.rollback(); err == nil {
		err = rollbackErr
	}
	c.settle(!commit || err != nil)
	return err
}

// rollback rolls back what is under way.
func (c *Conn) rollback() error {
	if c.shared.conn.GetAutocommit() {
		return nil
	}
	return c.db.Exec("ROLLBACK")
}

// ResetSession implements [driver.SessionResetter].
func (c *Conn) ResetSession(context.Context) error {
	if !c.IsValid() {
		return driver.ErrBadConn
	}
	return nil
}

// IsValid implements [driver.Validator]: a connection is used again if it is as it was. It is
// asked whenever the program gives it back.
func (c *Conn) IsValid() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over == nil && c.broken == nil && !c.shared.guard.changed && c.shared.conn.GetAutocommit()
}

// Close implements [driver.Conn]. It rolls back what is under way.
func (c *Conn) Close() error {
	err := c.Shut(driver.ErrBadConn)
	c.file.Left(c)
	return err
}

// Shut closes the connection while somebody may use it: the statement at hand is interrupted,
// what is under way is rolled back, and what is asked later returns over.
func (c *Conn) Shut(over error) error {
	c.Interrupt()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return nil
	}
	c.closeRows()
	c.over = over
	err := c.rollback()
	c.published = false
	c.settle(true)
	return errors.Join(err, c.shared.Close(), c.db.Close())
}
