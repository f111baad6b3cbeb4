package runtime

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/transact"
)

// Publisher is what events are published to: a *[Bus], or a [Tx] if they are to be stored
// together with rows of the program. The generated Publish functions take one. Only this
// package has types that implement it.
type Publisher interface {
	// target returns the bus, an *innerBus, and the transaction that the events are to be part of, which
	// is a within; nil for one of their own.
	target() (bus, tx any)
}

// within is a transaction of which events become a part.
type within interface {
	// append stores records, which the handler of an attempt publishes, or nobody's.
	append(ctx context.Context, a *dispatch.Attempt, records []engine.Record) error
	// wait returns why an event of the transaction cannot be waited for, or nil.
	wait(ctx context.Context, r *Receipt) error
}

func (b *Bus) target() (bus, tx any) {
	if b == nil {
		return nil, nil
	}
	return b.inner, nil
}

// Tx is a transaction on the file of a bus, shared with events: see [Transact]. Its methods
// run statements as those of [sql.Tx] do, so it can be handed to code that sqlc has
// generated, and it is a [Publisher].
//
// A Tx is good until its function returns or its time is up; later calls return
// [transact.ErrTxOver], or [sql.ErrTxDone]. It is safe for concurrent use, but it is one connection:
// statements run one after the other. Wait for goroutines that use it before the function
// returns: a statement that one of them still runs has [WithTxLimit] once more, and if that passes
// nothing of the function is stored.
//
// Statements see what the function has written before. They may read the bus's own tables
// and views, but not change them. Statements that begin or end transactions, attach
// databases, make temporary tables or change the connection are refused with a
// *[event.ProtectedError], and so are savepoints. The zero Tx is of no use.
type Tx struct{ inner any } // a *txRun

// txRun is one call of the function of a transaction.
type txRun struct {
	engine.Tx
	bus     *innerBus
	user    *atomic.Uintptr // the function of the program that runs, for the log
	state   atomic.Int32
	doubt   error           // why nobody knows whether it is stored; set before the state
	mu      sync.Mutex      // guards what follows
	records []engine.Record // published
	storing []childrenOf    // by handlers
}

// childrenOf is what the handler of an attempt has published in a transaction.
type childrenOf struct {
	attempt *dispatch.Attempt
	records []engine.Record
}

// The states of a txRun.
const (
	txOpen int32 = iota
	txStored
	txUndone
	txInDoubt
)

func (t Tx) target() (bus, tx any) {
	run := runOf(t)
	if run == nil {
		return nil, nil
	}
	return run.bus, run
}

// Transact runs f in a transaction on the file of the bus. What f writes with its Tx, and the
// events it publishes with it, are stored together, and on disk, when Transact returns nil; then
// the events are delivered. On an error nothing of it is stored.
//
// Many goroutines may call Transact at the same time. Their functions run one after the other,
// within one transaction of SQLite that is synced to disk once for all of them and for all
// who publish. So many small transactions are fast together, where each of its own would
// wait for the disk. What one of them does wrong concerns no other: its own writes are taken
// back.
//
// f runs on the goroutine of the caller, and everybody else who writes to the file waits
// for it. It should do nothing but read and write: call others, and compute, before. After
// 100 ms ([WithTxLimit]) the statement that runs is interrupted, the Tx is over, what f has
// written is taken back, and the bus logs a warning with the line that has called Transact, which
// still waits for f to return.
//
// f may be called more than once: when a statement of somebody else's function is
// interrupted while it writes, finds no space or memory, or fails with ON CONFLICT ROLLBACK,
// SQLite rolls back all of the transaction, and so does the bus when an event cannot be
// written. The functions that had run are called again, each with a new Tx. So f must set what it computes anew, and have no effect but through its Tx.
//
// In f everything that writes to the bus must go through its Tx. Other calls on the
// goroutine of f that would write, such as [Publish] with the bus or another Transact, would wait for f: they return
// [transact.ErrInTx] when a tenth of the limit has passed, or two. On another goroutine they wait until f is over.
//
// With the ctx of a handler the events are its children, also those that f publishes by SQL and that
// triggers publish (INSERT INTO outbox). But the transaction is one of its own: it is stored whatever
// becomes of the handler. Publishing with the Tx never waits for
// room: with [WithMaxPending] the error is a *[PendingError] also with [Block].
//
// If ctx ends before f is called, nothing is done and its error is returned.
// Later it only matters to the statements that it is given to. The errors are:
//
//   - that of f, as it is
//   - *[event.TxTimeoutError]: f did not return in time
//   - *[HopLimitError]: ctx is the one of a handler, and SQL in f has published an event that is too far from
//     its root, as triggers do that publish in a circle
//   - *[event.StorageError]: the file cannot be written; nothing is stored, unless it is InDoubt
//   - [transact.ErrInTx]: the caller is the function of a transaction of this bus
//   - [ErrShutdown]: the bus is shut down
//   - [ErrAttemptOver]: ctx is the one of a handler whose attempt is over
//   - [errors.ErrUnsupported]: the bus keeps its events in something that has no tables ([WithEngine])
//   - the error of ctx
//
// If f panics, or ends its goroutine, what it has written is taken back, and the panic goes on.
//
// Transact and [DB] are no methods of the bus: all that is in database/sql would be compiled with each package that names one.
func Transact(ctx context.Context, bus *Bus, f func(tx Tx) error) error { return busOf(bus).tx(ctx, f) }

func (b *innerBus) tx(ctx context.Context, f func(tx Tx) error) error {
	if f == nil {
		return errors.New("Tx: the function is nil")
	}
	defer b.keep()
	if err := b.acceptsFrom(ctx); err != nil {
		return err
	}
	return b.transact(ctx, b.attemptOf(ctx), nil, nil, func(run *txRun) error { return f(Tx{run}) })
}

// transactor returns what runs transactions.
func (b *innerBus) transactor() (engine.Transactor, error) {
	log, ok := b.log.(engine.Transactor)
	if !ok {
		return nil, errNoTables
	}
	return log, nil
}

var errNoTables = fmt.Errorf("%w: the engine of this bus has no tables; transactions need the file of the default engine", errors.ErrUnsupported)

// transact runs f in a transaction, with the success of a delivery or a step of it, unless they are nil. What f publishes
// by SQL are children of the event of an attempt, unless that is nil.
func (b *innerBus) transact(ctx context.Context, a *dispatch.Attempt, settle *engine.Settling, step *engine.Stepping, f func(run *txRun) error) error {
	log, err := b.transactor()
	if err != nil {
		return err
	}
	var callers [1]uintptr
	goruntime.Callers(4, callers[:]) // who has called Tx
	began := time.Now()
	var run *txRun
	var user atomic.Uintptr
	var own error // of the program
	defer func() {
		if run != nil { // also when the function panics
			run.state.CompareAndSwap(txOpen, txUndone)
		}
	}()
	err = log.Transact(ctx, engine.Transaction{
		Limit: b.config.txLimit, Settle: settle, Step: step,
		Run: func(tx engine.Tx) error {
			if run != nil {
				run.state.Store(txUndone)
			}
			run = &txRun{Tx: tx, bus: b, user: &user}
			own = f(run)
			return own
		},
		Adopt:   b.adopting(a),
		Overran: func() { b.warnTx(callers[:], user.Load(), began) },
	})
	if same(err, own) {
		return err // its methods are code of the program
	}
	if err != nil {
		err = public(err)
		if run != nil {
			run.end(err)
			if n := run.publishes(); n > 0 && settle == nil && step == nil { // a handler publishes them again
				b.refusals.add(n, err)
			}
		}
		return err
	}
	run.state.Store(txStored)
	run.mu.Lock() // a goroutine that the function has left may still publish in vain
	defer run.mu.Unlock()
	b.published(run.records)
	for _, s := range run.storing {
		b.storedBy(s.attempt, s.records)
	}
	return nil
}

// end says that the transaction has failed.
func (r *txRun) end(err error) {
	var storage *event.StorageError
	if errors.As(err, &storage) && storage.InDoubt {
		r.doubt = fmt.Errorf("nobody knows yet whether the transaction that this event was published in is stored: %w", err)
		r.state.Store(txInDoubt)
		return
	}
	r.state.Store(txUndone)
}

// publishes returns how many events the program has published in the transaction.
func (r *txRun) publishes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.records)
}

// runs notes the function of the program that is called next, where its caller is no code of the program.
func (r *txRun) runs(f any) { r.user.Store(reflect.ValueOf(f).Pointer()) }

// warnTx says whose function holds up all others: it names the line that has called Tx, or else the function.
func (b *innerBus) warnTx(callers []uintptr, user uintptr, began time.Time) {
	frame, _ := goruntime.CallersFrames(callers).Next()
	if f := goruntime.FuncForPC(user); f != nil {
		frame.File, frame.Line = f.FileLine(user)
	}
	b.config.logger.Warn("the function of a transaction takes too long; what it has written is taken back",
		slog.String("caller", fmt.Sprintf("%s:%d", frame.File, frame.Line)), slog.Duration("limit", b.config.txLimit), slog.Time("began", began))
}

// append stores records in the transaction.
func (r *txRun) append(_ context.Context, a *dispatch.Attempt, records []engine.Record) error {
	if err := r.bus.makeRoom(len(records)); err != nil {
		return err
	}
	if err := r.Tx.Append(records); err != nil {
		return public(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.records)
	r.records = append(r.records, records...) // a copy: the caller uses its own again
	if a != nil {
		r.storing = append(r.storing, childrenOf{a, r.records[before:]})
	}
	return nil
}

// makeRoom is for n events of a publisher that must not wait.
func (b *innerBus) makeRoom(n int) error {
	ok, err := b.admission.room(n)
	if err != nil {
		return public(err)
	}
	if !ok {
		return &PendingError{Limit: b.config.maxPending}
	}
	return nil
}

// wait implements within.
func (r *txRun) wait(context.Context, *Receipt) error {
	switch r.state.Load() {
	case txOpen:
		return transact.ErrInTx
	case txUndone:
		return transact.ErrTxUndone
	case txInDoubt:
		return r.doubt
	}
	return nil
}

// ExecContext runs a statement that returns no rows. Without args it may be several
// statements, with semicolons between them.
func (t Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return runOf(t).ExecContext(ctx, query, args...)
}

// PrepareContext prepares a statement, which is closed with the Tx. The bus keeps statements
// prepared anyway, so there is little to gain.
func (t Tx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return runOf(t).PrepareContext(ctx, query)
}

// QueryContext runs a query. Its rows are closed with the Tx, at the latest.
func (t Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return runOf(t).QueryContext(ctx, query, args...)
}

// QueryRowContext runs a query that finds one row at most.
func (t Tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return runOf(t).QueryRowContext(ctx, query, args...)
}

// WithTxLimit sets how long the function of a [Transact] may take, from 1 ms to 1 minute. The
// default is 100 ms. Everybody who writes waits for the function, and other processes do
// not wait for the file for longer than 5 s.
func WithTxLimit(d time.Duration) Option {
	return func(c *config) error {
		if d < time.Millisecond || d > time.Minute {
			return fmt.Errorf("WithTxLimit: the limit %v is not between 1ms and 1m", d)
		}
		c.txLimit = d
		return nil
	}
}

const defaultTxLimit = 100 * time.Millisecond
