package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/transact"
)

// Transactor is a log that lets the program write rows of its own in the transactions of
// the log. An engine that has no tables does not implement it.
type Transactor interface {
	// Transact runs t.Run on the calling goroutine, in a transaction of the log that it may
	// share with others who write at that moment. When Transact returns nil, all that Run has
	// written and appended is on disk; on an error nothing of it is stored.
	//
	// Run is called again, with another Tx, if the transaction had to be rolled back because
	// of somebody else's part of it.
	//
	// The error is the one that Run has returned; a *[event.TxTimeoutError] if Run took longer than
	// t.Limit, once Run has returned; [ErrInTx], within the limit of that, if the caller is itself inside a Run of this
	// log; that of ctx if it ends before the transaction begins, after which it no longer
	// matters; or a *[event.StorageError]. If Run panics or ends its goroutine, nothing of it is
	// stored, and the panic goes on.
	Transact(ctx context.Context, t Transaction) error
}

// Transaction is one part of a transaction of the log.
type Transaction struct {
	Run func(tx Tx) error
	// Limit is how long Run may take. Others wait meanwhile, so it is short.
	Limit time.Duration
	// Settle is a delivery that is handled with Run, so that its success is stored in the same
	// transaction; nil for none.
	Settle *Settling
	// Step is a step that is done with Run, and is stored in the same transaction; nil for none. Run fills in its result. If
	// [StepKeeper.StoreStep] would refuse it, the transaction is not stored, and its error is [ErrMoved].
	Step *Stepping
	// Adopt is called for each event that Run has published by SQL, also through triggers, when it has
	// returned nil. It sets the metadata, in the place of what was given. On an error nothing of
	// Run is stored. It is nil if the events are nobody's children.
	Adopt func(r *Record) error
	// Overran is called, on a goroutine of its own, when Run takes longer than Limit; nil for
	// nothing. Run may never return.
	Overran func()
}

// Settling is a delivery that is settled as [Done] in a transaction. If the delivery is not
// the consumer's any more, or was settled before, the transaction is not stored, and its error
// is [ErrMoved].
type Settling struct {
	Consumer Consumer
	Delivery *Delivery
	// Stored is called when the transaction is stored, before anybody is told who waits for
	// the delivery. It must not block.
	Stored func()
}

// DBTX runs statements. It is what the code that sqlc generates takes.
type DBTX interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Tx is what a Run writes with. It is over when Run returns, or when its time is up. What
// it is asked for after that is refused.
type Tx interface {
	DBTX

	// Append stores records in the transaction, in order, and sets their Seq, as
	// [Appender.Append] does. They are in the log when the transaction is. If the error is
	// not a *[event.ConflictError], nothing of the transaction will be stored.
	Append(records []Record) error
}

// ErrInTx is returned by what writes to the log on the goroutine of a [Transaction] that
// runs: it would wait for itself.
var ErrInTx = transact.ErrInTx

// ErrTxOver is returned by a Tx that is over.
var ErrTxOver = transact.ErrTxOver

// Database is a log whose file has tables, which programs use through database/sql. An engine
// that has no tables does not implement it.
type Database interface {
	// Connector returns what opens connections to the file. They end with the log: what is
	// asked of them after that, and of the connector, returns over. adopting is called with the contexts of
	// statements, and returns what is to be done with events that they publish, as Transaction.Adopt; or nil.
	Connector(over error, adopting func(ctx context.Context) func(r *Record) error) driver.Connector
}

// Joiner is a log whose events can become part of a transaction that the program has begun
// on a connection of its own. An engine that has no such connections does not implement it.
type Joiner interface {
	// Join stores records, in order, in the transaction that the program has begun on x, and
	// sets their Seq, as [Appender.Append] does. They are in the log when the program commits.
	// On an error none of them is part of the transaction, unless SQLite has rolled
	// back all of it.
	//
	// The error is a *[event.JoinError] if x is nothing that events can be stored with; then nothing
	// was written.
	Join(ctx context.Context, x any, records []Record) error

	// Holds tells whether the log has an event. One of a transaction that has not been
	// committed is not there.
	Holds(ctx context.Context, seq int64, id uuid.UUID) (bool, error)
}
