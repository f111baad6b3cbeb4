package sqlite

import (
	"context"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// A critical or high event is in the log like any other. If a subscription has a backlog when the event is published, the
// same transaction gives the delivery a row, which is due before all others, and a row in the table express: polls of the
// log pass the event over from then on, also when the delivery is done and its row is gone. The cursor removes the row of
// the table when it has passed the event. So publishers of other events pay nothing, and neither does a subscription that
// has no backlog.

// expressBehind is how many events the cursor is behind at most for a delivery that comes with the log: those before
// it are in memory, or the next poll brings them.
const expressBehind = 128

const (
	// insertExpress gives the events from ?1 to ?2, published at ?3, rows that are due at ?4, in the subscriptions with a
	// backlog: of the log, or of rows that are due.
	insertExpress = `
		INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at)
		SELECT s.id, l.seq, 'waiting', 0, ?4
		FROM busgen_log l JOIN busgen_routes r ON r.type = l.type JOIN busgen_subscriptions s ON s.id = r.subscription
		WHERE l.seq BETWEEN ?1 AND ?2 AND NOT s.strict
		  AND (s.cursor < l.seq - ?5
		       OR EXISTS (SELECT 1 FROM busgen_deliveries d INDEXED BY busgen_deliveries_open
		                  WHERE d.subscription = s.id AND d.state <> 'dead' AND d.due_at BETWEEN 0 AND ?3))`
	// markExpress makes the polls of the log pass these events over.
	markExpress = `
		INSERT INTO busgen_express (subscription, seq)
		SELECT subscription, seq FROM busgen_deliveries INDEXED BY busgen_deliveries_seq WHERE seq BETWEEN ?1 AND ?2 AND due_at = ?4`
)

// expressDue returns when the deliveries of such events are due: critical ones first.
func expressDue(e engine.Express) int64 { return -int64(e) }

// insertExpress writes events that are due at once, and all go ahead of as much.
func (b *batch) insertExpress(events []logged) error {
	if err := b.insertPlain(events); err != nil {
		return err
	}
	first, last := events[0].Seq, events[len(events)-1].Seq
	at, due := events[0].CreatedAt.UnixMicro(), expressDue(events[0].Express)
	err := b.conn.Exec(insertExpress, first, last, at, due, expressBehind)
	if err != nil || b.conn.Changes() == 0 {
		return err
	}
	if err := b.conn.Exec(markExpress, first, last, at, due); err != nil {
		return err
	}
	return b.noteExpress(b.events[len(b.events)-len(events):])
}

// noteExpress notes for the tail in which subscriptions events go ahead of the log, that were written in the transaction
// at hand.
func (b *batch) noteExpress(events []logged) error {
	first := events[0].Seq
	for i := range events {
		events[i].express = nil
	}
	return b.conn.Query(`
		SELECT seq, subscription FROM busgen_deliveries INDEXED BY busgen_deliveries_seq
		WHERE seq BETWEEN ? AND ? AND due_at < 0`, func(s *sqlite3.Stmt) error {
		e := &events[s.ColumnInt64(0)-first]
		if e.express == nil {
			e.express = new([]int64)
		}
		*e.express = append(*e.express, s.ColumnInt64(1))
		return nil
	}, first, events[len(events)-1].Seq)
}

// joinExpress is insertExpress for an event that a transaction of the program has written.
func joinExpress(s statements, r *engine.Record) error {
	args := []any{r.Seq, r.Seq, r.CreatedAt.UnixMicro(), expressDue(r.Express)}
	if err := s.exec(insertExpress, append(args, int64(expressBehind))...); err != nil {
		return err
	}
	return s.exec(markExpress, args...)
}

// express is what a consumer knows of express deliveries. Its methods are safe for concurrent use.
type express struct {
	critical, high atomic.Bool // there may be some that were not polled
	marks          atomic.Bool // the table express may have rows of the subscription

	place *claims.Place // says up to where they may have begun; guarded by mu of the consumer until it is there
}

// look makes the next polls look for all of them.
func (e *express) look() {
	e.marks.Store(true)
	e.critical.Store(true)
	e.high.Store(true)
}

// came notes one.
func (e *express) came(rank engine.Express) {
	e.marks.Store(true)
	e.of(rank).Store(true)
}

func (e *express) of(rank engine.Express) *atomic.Bool {
	if rank == engine.Critical {
		return &e.critical
	}
	return &e.high
}

// expressed tells the consumers which of the events that were stored go ahead of their logs.
func (cs *consumers) expressed(events []logged, all []*consumer) {
	for i := range events {
		if events[i].express == nil {
			continue
		}
		for _, c := range all {
			if events[i].passes(c.id) {
				c.express.came(events[i].Express)
			}
		}
	}
}

// Express implements [engine.Source].
func (c *consumer) Express() (critical, high bool) {
	return c.express.critical.Load(), c.express.high.Load()
}

// PollExpress implements [engine.Source].
func (c *consumer) PollExpress(dst []*engine.Delivery, critical, high int) (_ []*engine.Delivery, err error) {
	c.polling.Lock()
	defer c.polling.Unlock()
	if dst, err = c.pollRank(dst, engine.Critical, critical); err == nil {
		dst, err = c.pollRank(dst, engine.High, high)
	}
	if c.gone() {
		return dst[:0], nil
	}
	return dst, fault.Wrap("read", c.ground.path, err)
}

// pollRank hands over up to limit express deliveries. What comes from here on is noted again.
func (c *consumer) pollRank(dst []*engine.Delivery, rank engine.Express, limit int) (_ []*engine.Delivery, err error) {
	waits := c.express.of(rank)
	if limit <= 0 || !waits.Swap(false) {
		return dst, nil
	}
	c.mu.Lock()
	c.reading = true
	busy := len(c.rows)
	c.mu.Unlock()
	found, more, size := 0, false, int64(0)
	err = c.ground.read(func(conn *database.Conn) error {
		return conn.Query(selectDelivery+`
			WHERE d.subscription = ? AND d.state <> 'dead' AND d.state = 'waiting' AND d.due_at = ?
			ORDER BY d.seq LIMIT ?`, func(s *sqlite3.Stmt) error {
			if size += tables.BytesOf(s, 4) + tables.BytesOf(s, 5); more || found == limit || found > 0 && size > tables.PageBytes {
				more = true
				return nil
			}
			own, err := c.waitingRow(conn, s)
			if err == nil && c.hold(own, s) {
				dst = append(dst, &own.Delivery)
				found++
			}
			return err
		}, c.id, expressDue(rank), limit+busy+1)
	})
	c.endReading(never)
	if more || err != nil {
		waits.Store(true)
	}
	return dst, err
}

// begins returns up to where of the log deliveries have begun, for the claim of one that begins. One that goes ahead
// says nothing about those between: ahead is its seq, and else 0. The caller holds mu.
func (c *consumer) begins(own *delivery) (upTo, ahead int64) {
	if !own.express {
		return own.Seq, 0
	}
	if c.express.place == nil {
		c.express.place = c.ground.claims.Reserve()
	}
	return max(min(c.cursor, own.Seq), 1), own.Seq // the claim of a batch needs a number
}

// beginExpress says that express deliveries up to a seq may have begun, unless it is 0.
func (c *consumer) beginExpress(seq int64) {
	if seq > 0 {
		c.ground.claims.BeginExpress(c.express.place, c.id, seq)
	}
}

// passExpress removes what the table express says of events that the cursor of f has passed, and notes whether more is left.
func (b *batch) passExpress(f *flush) error {
	if !f.express {
		return nil
	}
	err := b.conn.Exec("DELETE FROM busgen_express WHERE subscription = ? AND seq <= ?", f.id, f.cursor)
	if err != nil {
		return err
	}
	left, err := b.conn.Int64("SELECT EXISTS (SELECT 1 FROM busgen_express WHERE subscription = ?)", f.id)
	f.expressLeft = left > 0
	return err
}

// doubtExpress counts an execution of each express delivery that waits, up to a seq, if none is on record: it may have been
// handled by a process that died before it could say so.
func doubtExpress(c *database.Conn, subscription, upTo int64) error {
	return c.Exec(`
		UPDATE busgen_deliveries INDEXED BY busgen_deliveries_open SET uncounted = 1
		WHERE subscription = ? AND due_at < 0 AND state <> 'dead' AND state = 'waiting' AND seq <= ? AND uncounted = 0`, subscription, upTo)
}

// ordered is keepOrder for a consumer that comes while this process dispatches.
func (cs *consumers) ordered(ctx context.Context, c *consumer) error {
	differs, err := valueOf(cs.ground, func(conn *database.Conn) (int64, error) {
		return conn.Int64("SELECT strict <> ? FROM busgen_subscriptions WHERE id = ?", c.strict, c.id)
	})
	if err != nil || differs == 0 || !cs.owns.Load() {
		return err
	}
	if err := cs.writer.do(ctx, c.keepOrder); err != nil {
		return err
	}
	return cs.read(c.load)
}

// keepOrder writes whether a subscription has a strict order. In one that has, nothing goes ahead: what has a row for
// that, and was not begun, comes with the log again, or first if the cursor has passed it. No process may poll meanwhile.
func (c *consumer) keepOrder(conn *database.Conn) error {
	const waiting = "subscription = ?1 AND due_at < 0 AND state <> 'dead' AND state = 'waiting'"
	all := []string{"UPDATE busgen_subscriptions SET strict = 0 WHERE id = ?1 AND strict"}
	if c.strict {
		all = []string{
			"UPDATE busgen_subscriptions SET strict = 1 WHERE id = ?1 AND NOT strict",
			"DELETE FROM busgen_express WHERE subscription = ?1 AND seq IN (SELECT seq FROM busgen_deliveries WHERE " + waiting + ")",
			"DELETE FROM busgen_deliveries WHERE " + waiting + " AND seq > (SELECT cursor FROM busgen_subscriptions WHERE id = ?1)",
			"UPDATE busgen_deliveries SET due_at = 0 WHERE " + waiting,
		}
	}
	for _, sql := range all {
		if err := conn.Exec(sql, c.id); err != nil {
			return err
		}
	}
	return nil
}
