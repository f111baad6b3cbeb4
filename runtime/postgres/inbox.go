package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/outbox"
)

// Subscribe calls handler for every event of one type, within a transaction of Postgres. Its rows, the events that it
// publishes with ctx or with [In], and a mark that this subscription has handled this event are committed together. A
// delivery whose mark is there is handled, and handler is not called: so the rows say exactly once what the event says.
//
//	postgres.Subscribe(bus, events.OrderPaidType, "invoices", func(ctx context.Context, tx pgx.Tx, e runtime.Event[events.OrderPaid]) error {
//		_, err := tx.Exec(ctx, "INSERT INTO invoices …")
//		return err
//	})
//
// The transaction is of the pool that [Relay] was given, which is a *pgxpool.Pool with more connections than handlers
// run at once, and has the isolation that is set for the database. An error, a panic and the end of ctx roll back, and
// then all is as with [runtime.Subscribe]. If Postgres cannot be reached or does not answer the commit, or another
// transaction is in the way (SQLSTATE 40001, 40P01), the event is tried again after a second, and that does not count
// as an attempt: the mark says whether the commit has happened.
//
// handler must not commit or roll back, and must not wait for other events. Effects outside of Postgres happen at least
// once, and so do those of [runtime.Immediately]. Middleware runs around the transaction. [runtime.Atomically] cannot
// be used, and neither can [runtime.Ephemeral].
//
// A replay calls handler again. A mark is kept for a week, and for as long as the bus has yet to settle the event or
// has it as a dead letter. Marks belong to the name of the subscription ([runtime.WithAliases] renames them), also if
// the bus is a new one.
//
// The errors are those of [runtime.Subscribe], and one that matches [errors.ErrUnsupported] if the bus has no [Relay].
func Subscribe[T runtime.Payload](bus *runtime.Bus, t *runtime.EventType[T], name string,
	handler func(ctx context.Context, tx pgx.Tx, e runtime.Event[T]) error, opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return subscribe(bus, t, name, beginPgx, handler, opts)
}

// SubscribeSQL is [Subscribe] for a [Relay] whose database is a *[sql.DB]. A handler that commits its transaction all
// the same loses the events that it has published with ctx.
func SubscribeSQL[T runtime.Payload](bus *runtime.Bus, t *runtime.EventType[T], name string,
	handler func(ctx context.Context, tx *sql.Tx, e runtime.Event[T]) error, opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return subscribe(bus, t, name, beginSQL, handler, opts)
}

func subscribe[T runtime.Payload, Tx any](bus *runtime.Bus, t *runtime.EventType[T], name string, begin beginner[Tx],
	handler func(ctx context.Context, tx Tx, e runtime.Event[T]) error, opts []runtime.SubscribeOption) (*runtime.Subscription, error) {
	in, opts, err := newInbox(bus, name, begin, handler == nil, opts)
	if err != nil {
		return nil, err
	}
	return runtime.Subscribe(bus, t, name, func(ctx context.Context, e runtime.Event[T]) error {
		a := dispatch.FromContext(ctx)
		return in.handle(ctx, work[Tx]{
			items:  []*dispatch.Attempt{a},
			call:   func(tx Tx, _ map[uuid.UUID]bool) (map[int]error, error) { return nil, handler(ctx, tx, e) },
			take:   func(map[int]error) ([]engine.Record, error) { return a.TakeStaged() },
			stored: func(map[int]error) { a.HasStored() },
		})
	}, opts...)
}

// SubscribeBatch is [Subscribe] for several events at once, which share a transaction: see [runtime.SubscribeBatch]. It
// is the fast way. Events that are marked are left out of events. A *[runtime.BatchError] commits, without marks for
// the events that it names: handler has undone what it did for these, with a savepoint (tx.Begin). Any other error
// rolls back all.
func SubscribeBatch[T runtime.Payload](bus *runtime.Bus, t *runtime.EventType[T], name string,
	handler func(ctx context.Context, tx pgx.Tx, events []runtime.Event[T]) error, opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	in, opts, err := newInbox(bus, name, beginPgx, handler == nil, opts)
	if err != nil {
		return nil, err
	}
	return runtime.SubscribeBatch(bus, t, name, func(ctx context.Context, events []runtime.Event[T]) error {
		b := dispatch.FromContext(ctx).Batch()
		return in.handle(ctx, work[pgx.Tx]{
			items: b.Items(),
			call: func(tx pgx.Tx, known map[uuid.UUID]bool) (map[int]error, error) {
				if len(known) > 0 {
					b.Known(func(a *dispatch.Attempt) bool { return known[a.ID] })
					events = slices.DeleteFunc(events, func(e runtime.Event[T]) bool { return known[e.ID] })
				}
				err := handler(ctx, tx, events)
				if named, ok := errors.AsType[*runtime.BatchError](err); ok {
					return failedOf(named, len(events)), err
				}
				return nil, err
			},
			take: func(failed map[int]error) ([]engine.Record, error) {
				staged, err := b.TakeStaged(failed)
				if err != nil { // an event has expired, and the others have not failed
					err = &errs.UncommittedError{Err: err}
				}
				return staged, err
			},
			stored: b.HasStored,
		})
	}, opts...)
}

// failedOf returns the events of a batch of n that an error names; nil if all have failed.
func failedOf(named *runtime.BatchError, n int) map[int]error {
	failed := map[int]error{}
	for i, err := range named.Items {
		if i < 0 || i >= n {
			return nil
		}
		if err != nil {
			failed[i] = err
		}
	}
	if len(failed) == n {
		return nil
	}
	return failed
}

// inbox runs the handlers of a subscription in transactions.
type inbox[Tx any] struct {
	*tables
	bell  *bell
	host  outbox.Host
	begin func(ctx context.Context) (Tx, ending, error)

	mu sync.Mutex
	id int // of the subscription; 0 until it is known
}

func newInbox[Tx any](bus *runtime.Bus, name string, begin beginner[Tx], none bool, opts []runtime.SubscribeOption) (*inbox[Tx], []runtime.SubscribeOption, error) {
	in := &inbox[Tx]{host: outbox.HostOf(bus)}
	at, ok := in.host.Home.(interface{ outbox() (*tables, *bell) })
	_, relays := in.host.Home.(outbox.Relay)
	err := unsupported("the bus has no postgres.Relay, so it", "handle events in transactions of Postgres", "give this option to Open")
	if ok && relays {
		in.tables, in.bell = at.outbox()
		in.begin, err = begin(in.on), nil
	}
	switch {
	case err == nil && in.begin == nil:
		err = errors.New("Subscribe and SubscribeBatch are for a postgres.Relay with a *pgxpool.Pool, and SubscribeSQL for one with a *sql.DB")
	case err == nil && none:
		err = errors.New("the handler is nil")
	}
	if err != nil {
		return nil, nil, &runtime.SubscribeError{Subscription: name, Problem: err.Error(), Err: err}
	}
	return in, append(slices.Clone(opts), outbox.Elsewhere.(runtime.SubscribeOption)), nil
}

// work is what one transaction is about.
type work[Tx any] struct {
	items []*dispatch.Attempt
	// call calls the handler. known has the events that are marked. Items that have failed are left out of the commit.
	call   func(tx Tx, known map[uuid.UUID]bool) (failed map[int]error, err error)
	take   func(failed map[int]error) ([]engine.Record, error) // what the handler has published with its context
	stored func(failed map[int]error)
}

// handle does work in a transaction.
func (in *inbox[Tx]) handle(ctx context.Context, w work[Tx]) error {
	id, err := in.subscription(ctx, w.items[0])
	if err != nil {
		return in.failed(ctx, fmt.Errorf("look up the subscription in Postgres: %w%s", err, hintOf(err)))
	}
	tx, t, err := in.begin(ctx)
	if err != nil {
		return in.failed(ctx, fmt.Errorf("begin a transaction of Postgres: %w", err))
	}
	ended := false
	defer func() {
		if !ended { // also if the handler panics or ends its goroutine
			t.rollback()
		}
	}()
	q := querierOf(tx)
	known, err := in.mark(ctx, q, id, w.items)
	if err != nil {
		return in.failed(ctx, fmt.Errorf("mark an event as handled in Postgres: %w%s", err, hintOf(err)))
	}
	if len(known) == len(w.items) {
		return nil
	}
	failed, answer := w.call(tx, known)
	if answer != nil && failed == nil {
		ended = true
		return in.asked(ctx, answer, t.rollback())
	}
	staged, err := w.take(failed)
	if err != nil {
		return err
	}
	staged = slices.DeleteFunc(staged, func(r engine.Record) bool { return r.Duplicate })
	if err := in.finish(ctx, q, id, w.items, failed, staged, known); err != nil {
		return in.failed(ctx, err)
	}
	ended = true
	if err := t.commit(); err != nil {
		return in.failed(context.Background(), fmt.Errorf("commit in Postgres: %w", err))
	}
	w.stored(failed)
	if len(staged) > 0 {
		in.host.Published(staged)
		in.bell.ring()
	}
	return answer
}

// finish stores what the handler has published, and takes the marks of failed events away.
func (in *inbox[Tx]) finish(ctx context.Context, q querier, id int, items []*dispatch.Attempt, failed map[int]error, staged []engine.Record, known map[uuid.UUID]bool) error {
	if len(failed) > 0 {
		items = slices.DeleteFunc(slices.Clone(items), func(a *dispatch.Attempt) bool { return known[a.ID] })
		var undone []*dispatch.Attempt
		for i := range failed {
			undone = append(undone, items[i])
		}
		events, runs := keysOf(undone)
		err := q.exec(ctx, in.in("DELETE FROM busgen.inbox WHERE subscription = $1::int AND (event, run) IN (SELECT * FROM unnest($2::text[]::uuid[], $3::bigint[]))"), replanned, id, events, runs)
		if err != nil {
			return fmt.Errorf("leave out the events of a batch that have failed: %w", err)
		}
	}
	if len(staged) == 0 {
		return nil
	}
	if err := in.insert(ctx, q, staged); err != nil {
		return fmt.Errorf("publish into the outbox %s of Postgres: %w%s", in.schema, err, hintOf(err))
	}
	return nil
}

// keysOf returns what marks have of events. The run tells a replay from what was before it: it is when the replay
// began, in microseconds, and 0 for an event that was not replayed. It is the same in all attempts.
func keysOf(items []*dispatch.Attempt) (events []string, runs []int64) {
	for _, a := range items {
		events, runs = append(events, a.ID.String()), append(runs, 0)
		if a.Replayed {
			runs[len(runs)-1] = a.Since.UnixMicro()
		}
	}
	return events, runs
}

// mark marks events as handled, and returns those that were before. It waits for transactions that mark one of them.
func (in *inbox[Tx]) mark(ctx context.Context, q querier, id int, items []*dispatch.Attempt) (known map[uuid.UUID]bool, err error) {
	events, runs := keysOf(items)
	marked := make(map[string]bool, len(items))
	err = q(ctx, func(scan func(into ...any) error) error {
		var event string
		err := scan(&event)
		marked[event] = true
		return err
	}, in.in(`INSERT INTO busgen.inbox (subscription, event, run)
		SELECT $1::int, event, run FROM unnest($2::text[]::uuid[], $3::bigint[]) AS new (event, run) ORDER BY event
		ON CONFLICT DO NOTHING RETURNING event::text`), id, events, runs)
	if err != nil || len(marked) == len(items) {
		return nil, err
	}
	known = map[uuid.UUID]bool{}
	for _, a := range items {
		if !marked[a.ID.String()] {
			known[a.ID] = true
		}
	}
	return known, nil
}

// subscription returns the number of the subscription in marks, which is kept when it is renamed.
func (in *inbox[Tx]) subscription(ctx context.Context, a *dispatch.Attempt) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.id > 0 {
		return in.id, nil
	}
	id, name := 0, a.HandlerName()
	err := in.db.exec(ctx, in.in(`UPDATE busgen.subscriptions SET name = $1::text WHERE id = (SELECT min(id) FROM busgen.subscriptions WHERE name = ANY ($2::text[]))
		AND NOT EXISTS (SELECT FROM busgen.subscriptions WHERE name = $1::text)`), name, a.HandlerAliases())
	if err == nil {
		err = in.db.exec(ctx, in.in("INSERT INTO busgen.subscriptions (name) VALUES ($1::text) ON CONFLICT DO NOTHING"), name)
	}
	if err == nil {
		err = in.db.one(ctx, &id, in.in("SELECT id FROM busgen.subscriptions WHERE name = $1::text"), name)
	}
	if err == nil {
		in.id = id
	}
	return id, err
}

// asked returns what becomes of an attempt whose handler has returned an error. undone is the error of the rollback.
func (in *inbox[Tx]) asked(ctx context.Context, err, undone error) error {
	state := sqlState(err)
	conflict := state == "40001" || state == "40P01"
	if (conflict || undone != nil && !isOver(undone)) && ctx.Err() == nil && !errs.Steers(err) && !slices.Contains(idled, state) {
		return &errs.UncommittedError{Err: err}
	}
	return err
}

// failed returns what becomes of an attempt of which a statement or the commit has failed that is not the handler's.
func (in *inbox[Tx]) failed(ctx context.Context, err error) error {
	state := sqlState(err)
	switch {
	case ctx.Err() != nil, slices.Contains(idled, state):
		return err
	case isOver(err):
		return fmt.Errorf("a handler must leave its transaction to the subscription, and not commit it or roll it back: %w", err)
	case errors.Is(err, pgx.ErrTxCommitRollback), state == "25P02":
		return fmt.Errorf("the handler has returned nil although a statement of its transaction had failed, so nothing is stored: %w", err)
	case state == "", slices.Contains(passing, state[:2]), hintOf(err) != "", state == "42501":
		return &errs.UncommittedError{Err: err, What: "the rows of the handler could not be stored"}
	}
	return err // a constraint that is looked at in the end, or a trigger
}

// idled are the errors of a handler whose transaction did nothing for too long, by the settings of the server.
var idled = []string{"25P03", "57P05"}

func isOver(err error) bool { return errors.Is(err, pgx.ErrTxClosed) || errors.Is(err, sql.ErrTxDone) }

// beginner returns what begins transactions of a kind on a database, or nil if it has none of that kind.
type beginner[Tx any] func(on DB) func(ctx context.Context) (Tx, ending, error)

// ending ends a transaction.
type ending struct {
	commit   func() error // takes patience at most
	rollback func() error
}

func beginPgx(on DB) func(ctx context.Context) (pgx.Tx, ending, error) {
	pool, ok := on.(*pgxpool.Pool)
	if !ok {
		return nil
	}
	return func(ctx context.Context) (pgx.Tx, ending, error) {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return nil, ending{}, err
		}
		// A handler that ignores the end of ctx must not keep its locks, above all the mark. The server rolls back.
		cut, conn := make(chan struct{}), tx.Conn().PgConn().Conn()
		stop := context.AfterFunc(ctx, func() {
			defer close(cut)
			conn.Close()
		})
		end := func(within time.Duration, how func(context.Context) error) func() error {
			return func() error {
				if !stop() {
					<-cut // or it would cut the connection of another transaction
				}
				try, end := context.WithTimeout(context.WithoutCancel(ctx), within)
				defer end()
				return how(try)
			}
		}
		return held{tx}, ending{end(patience, tx.Commit), end(time.Second, tx.Rollback)}, nil
	}
}

// held is a transaction that its handler cannot end.
type held struct{ pgx.Tx }

var errHeld = errors.New("postgres: the subscription commits when the handler returns nil, and rolls back when it returns an error")

// Commit implements [pgx.Tx].
func (held) Commit(context.Context) error { return errHeld }

// Rollback implements [pgx.Tx].
func (held) Rollback(context.Context) error { return errHeld }

func beginSQL(on DB) func(ctx context.Context) (*sql.Tx, ending, error) {
	db, ok := on.(*sql.DB)
	if !ok {
		return nil
	}
	return func(ctx context.Context) (*sql.Tx, ending, error) {
		own, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the end of which rolls back
		stop := context.AfterFunc(ctx, cancel)
		tx, err := db.BeginTx(own, nil)
		if err != nil {
			cancel()
			return nil, ending{}, err
		}
		end := func(how func() error) func() error {
			return func() error {
				stop()
				defer cancel()
				defer time.AfterFunc(patience, cancel).Stop()
				return how()
			}
		}
		return tx, ending{end(tx.Commit), end(tx.Rollback)}, nil
	}
}
