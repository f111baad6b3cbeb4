package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/sqlapi"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// run is one call of the function of a part.
type run struct {
	*relay
	part      *part
	session   *sqlapi.Session
	working   atomic.Bool // the function runs, and its time is not up; whoever ends that concludes the run
	goroutine uint64      // that the function runs on; 0 if it was alone, see [running]
	failed    error       // what was appended could not be

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
func (t *run) begin() {
	t.begins()
	t.working.Store(true)
}

// end says that the function has ended. If its time was up before, that comes too late.
func (t *run) end(err error) {
	t.ends()
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

// A part can settle a delivery: its handler has written within the transaction, and its
// success is to be stored with that. Until the transaction is stored this is tentative. What
// the consumer wants written after it is written at the end of the same transaction, beside
// what it wanted before. If the transaction fails, the delivery is as it was, and the
// dispatcher settles it otherwise.

// tentative is a delivery that a part has settled in the transaction at hand.
type tentative struct {
	*delivery
	consumer  *consumer
	cancelled string // why it was to be cancelled
	marked    bool   // it was
	stored    func()
	flush     bool // its consumer's writing begins here
}

// settle settles a delivery tentatively. It reports false if it cannot be settled any more.
func (b *batch) settle(s *engine.Settling) bool {
	one, ok := s.Consumer.(*consumer).settleTentatively(s.Delivery)
	if ok {
		one.stored = s.Stored
		b.settled = append(b.settled, one)
	}
	return ok
}

func (c *consumer) settleTentatively(d *engine.Delivery) (tentative, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := d.Token.(*delivery)
	if c.ended || c.replaced || own.settled {
		return tentative{}, false
	}
	one := tentative{delivery: own, consumer: c}
	one.cancelled, one.marked = c.cancelled[d.Seq]
	own.settled, own.final, own.tentative = true, true, true
	if cancelled := c.unmark(d.Seq); cancelled || own.row != "" { // else the cursor says it, as in settle
		c.rows[d.Seq] = own
		c.dispositions = append(c.dispositions, settledDelivery{
			delivery: own, Disposition: engine.Disposition{Kind: engine.Done}, begun: true, cancelled: cancelled,
		})
	}
	return one, true
}

// takeSettled adds to the flushes what the consumers of the deliveries want written.
func (b *batch) takeSettled() {
	for i := range b.settled {
		one := &b.settled[i]
		another := func(other tentative) bool { return other.consumer == one.consumer }
		if !slices.ContainsFunc(b.settled[:i], another) {
			one.flush = true
			b.flushes = append(b.flushes, one.consumer.take())
		}
	}
}

// tellSettled says that the deliveries are settled for good.
func (b *batch) tellSettled() {
	for _, one := range b.settled {
		if one.stored != nil {
			one.stored()
		}
	}
	b.settled = emptied(b.settled)
}

// unsettle makes the deliveries what they were before the transaction, which has failed.
func (b *batch) unsettle() {
	b.unstep()
	for i := len(b.settled) - 1; i >= 0; i-- {
		one := b.settled[i]
		if one.flush {
			last := len(b.flushes) - 1
			one.consumer.restore(b.flushes[last])
			b.flushes[last] = flush{}
			b.flushes = b.flushes[:last]
		}
	}
	for _, one := range b.settled {
		one.consumer.unsettle(one)
	}
	b.settled = emptied(b.settled)
}

// unsettle makes a delivery what it was. It is not on the way any more: the next flush gives
// it a row, so that the cursor can pass it. If it was settled otherwise meanwhile, such as by a shutdown
// that does not wait, that holds now.
func (c *consumer) unsettle(one tentative) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	own := one.delivery
	c.dispositions = slices.DeleteFunc(c.dispositions, func(d settledDelivery) bool { return d.delivery == own })
	own.settled, own.final, own.tentative = false, false, false
	if one.marked {
		if c.cancelled == nil {
			c.cancelled = map[int64]string{}
		}
		c.cancelled[own.Seq] = one.cancelled
		c.cancels.Store(true)
	}
	if otherwise := own.otherwise; otherwise != nil {
		own.otherwise = nil
		c.settle(&own.Delivery, otherwise)
		return
	}
	if !slices.Contains(c.way, own) {
		own.row = tables.RowRunning
		c.rows[own.Seq] = own
		if !slices.ContainsFunc(c.owed, func(r rowChange) bool { return r.delivery == own }) {
			c.owed = append(c.owed, rowChange{own, tables.RowRunning})
		}
	} else if own.row == "" {
		delete(c.rows, own.Seq)
	}
}
