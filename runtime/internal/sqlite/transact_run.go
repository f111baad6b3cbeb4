package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"sync/atomic"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/sqlapi"
)

// run is one call of the function of a part.
type run struct {
	*relay
	part    *part
	session *sqlapi.Session
	working atomic.Bool // the function runs, and its time is not up; whoever ends that concludes the run
	failed  error       // what was appended could not be

	before       int // how many events the transaction had when this began
	heldBefore   int // and how many of them were yet to be written
	diskFailures int

	mu   sync.Mutex
	tx   *sql.Tx // nil before it is needed
	over bool
}

// database returns the transaction of database/sql, which makes the rows of queries. What
// can do without it does: to begin one costs as much as a statement.
func (t *run) database() (*sql.Tx, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil, engine.ErrTxOver
	}
	var err error
	if t.tx == nil {
		t.tx, err = t.pool.BeginTx(context.WithValue(context.Background(), sessionKey{}, t.session), nil)
	}
	return t.tx, err
}

// begin says that the function is called.
func (t *run) begin() { t.working.Store(true) }

// end says that the function has ended. If its time was up before, that comes too late.
func (t *run) end(err error) {
	t.close()
	if t.working.CompareAndSwap(true, false) {
		t.relay.conclude(t, err)
	}
}

// interrupt ends a run whose time is up.
func (t *run) interrupt() {
	select {
	case <-t.part.turn: // its caller is busy, such as with a context that blocks
	default:
		if !t.working.CompareAndSwap(true, false) {
			return // it has ended, or is about to begin
		}
	}
	t.session.Interrupt()
	t.relay.conclude(t, t.part.overran())
}

// close frees what the function has left open.
func (t *run) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	if t.tx != nil {
		t.session.End(engine.ErrTxOver)
		go t.tx.Rollback() // which frees what database/sql holds, and waits for goroutines of the program
	}
}

// sessionKey is the key of the session in the context of a connector.
type sessionKey struct{}

// sessions is a connector that hands out the session of its context.
type sessions struct{}

func (sessions) Connect(ctx context.Context) (driver.Conn, error) {
	if session, ok := ctx.Value(sessionKey{}).(*sqlapi.Session); ok {
		return session, nil
	}
	return nil, engine.ErrTxOver // see QueryRowContext
}

func (sessions) Driver() driver.Driver { return nil }

// Append implements [engine.Tx].
func (t *run) Append(records []engine.Record) error {
	if len(records) == 0 {
		return nil
	}
	return t.session.Do(func() error {
		t.appending = t.types.number(t.appending[:0], records)
		events := t.appending
		defer clear(events)
		err := t.batch.deduplicate(events)
		if err == nil {
			if err = t.insert(events); err == nil {
				numberDuplicates(events)
			}
		}
		if err != nil {
			if !isConflict(err) {
				t.failed = err
			}
			return err
		}
		for i, e := range events {
			records[i].Seq, records[i].ID, records[i].Duplicate = e.Seq, e.ID, e.Duplicate
		}
		return nil
	})
}

// insertStep is how many events are written before the limit is looked at.
const insertStep = 256

// insert writes events for as long as there is time.
func (t *run) insert(events []logged) error {
	if held, err := t.hold(events); held || err != nil {
		return err
	}
	for ; len(events) > insertStep; events = events[insertStep:] {
		if err := t.batch.insert(events[:insertStep]); err != nil {
			return err
		}
		if t.session.Interrupted() {
			return context.DeadlineExceeded
		}
	}
	return t.batch.insert(events)
}

// ExecContext implements [engine.DBTX].
func (t *run) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if sqlapi.IsPlain(args) {
		return t.session.Exec(ctx, query, args)
	}
	tx, err := t.database()
	if err != nil {
		return nil, err
	}
	return tx.ExecContext(ctx, query, args...)
}

// PrepareContext implements [engine.DBTX].
func (t *run) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	tx, err := t.database()
	if err != nil {
		return nil, err
	}
	return tx.PrepareContext(ctx, query)
}

// QueryContext implements [engine.DBTX].
func (t *run) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	tx, err := t.database()
	if err != nil {
		return nil, err
	}
	return tx.QueryContext(ctx, query, args...)
}

// QueryRowContext implements [engine.DBTX].
func (t *run) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	tx, err := t.database()
	if err != nil {
		// Only database/sql makes a row that has an error: here that of Connect.
		return t.pool.QueryRowContext(context.Background(), query)
	}
	return tx.QueryRowContext(ctx, query, args...)
}
