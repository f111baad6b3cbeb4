package sqlite

import (
	"context"
	"sort"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// A delivery that is open can be discarded by somebody who has not got it in his hands:
// an operator, or the program that cancels its event. The table cancelled keeps that, and
// the dispatching process settles the delivery when its turn comes, which is at once. In
// memory a consumer has marks for what the table says. Begin looks at them under the lock
// with which they are set: so a delivery is either cancelled or begun.

// Cancelled implements [engine.Source].
func (c *consumer) Cancelled(seq int64) (reason string, ok bool) {
	if !c.cancels.Load() {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	reason, ok = c.cancelled[seq]
	return reason, ok
}

// cancelledRow is what the file says of a cancelled delivery.
type cancelledRow struct {
	reason string
	waits  bool // it has a row in deliveries
}

// mark replaces what is cancelled, by seq. It leaves out what is settled already, and not
// yet written. The caller sees to it that nothing of the consumer is written meanwhile.
//
// What was polled, and is not begun, stays cancelled if that was undone, and so does what was undone before this
// process has heard of it: the copy in memory has the former counts. It is settled as discarded, and begins anew when
// that is written and the file does not say so any more.
func (c *consumer) mark(found map[int64]cancelledRow, undone map[int64]time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.cancelled
	c.cancelled = nil
	add := func(seq int64, reason string) {
		if c.cancelled == nil {
			c.cancelled = map[int64]string{}
		}
		c.cancelled[seq] = reason
	}
	for seq, one := range found {
		if own := c.polledAt(seq); own == nil && !one.waits && seq < c.next || own != nil && own.final {
			continue // on the way there are none any more that nothing came before
		}
		add(seq, one.reason)
	}
	for seq, reason := range before {
		if _, still := c.cancelled[seq]; !still && c.polledAt(seq).waits() {
			add(seq, reason)
		}
	}
	for seq, at := range undone {
		if own := c.polledAt(seq); own.waits() && own.Since.Before(at) {
			add(seq, "undone")
		}
	}
	c.cancels.Store(len(c.cancelled) > 0)
}

// waits reports whether a delivery was polled and is neither begun nor settled. The caller holds the consumer's mu.
func (d *delivery) waits() bool { return d != nil && !d.settled && d.started.IsZero() }

// begun reports whether a handler was called for the delivery, which is not settled.
func (c *consumer) begun(seq int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.polledAt(seq)
	return own != nil && !own.settled && !own.started.IsZero()
}

// unmark is called with mu held when a delivery is settled for good. It reports whether
// the delivery was cancelled, so that the file still says so.
func (c *consumer) unmark(seq int64) bool {
	_, marked := c.cancelled[seq]
	if marked {
		delete(c.cancelled, seq)
		c.cancels.Store(len(c.cancelled) > 0)
	}
	return marked
}

// polledAt returns a delivery that was polled and is not settled and written, or nil. The
// caller holds mu.
func (c *consumer) polledAt(seq int64) *delivery {
	if own := c.rows[seq]; own != nil {
		return own
	}
	i := sort.Search(len(c.way), func(i int) bool { return c.way[i].Seq >= seq })
	if i < len(c.way) && c.way[i].Seq == seq {
		return c.way[i]
	}
	return nil
}

// readCancelled takes in what is cancelled. It returns the rows of those who wait for an
// answer, which is in them by then, and reports whether there are rows of deliveries that
// are settled. It runs on the writer's goroutine, or while nothing of the consumers is
// written.
func (cs *consumers) readCancelled(conn *database.Conn) (asked []askedRow, old bool, err error) {
	found := map[int64]map[int64]cancelledRow{}
	err = conn.Query(`
		SELECT x.subscription, x.seq, x.reason, x.answer IS `+notAnswered+`, `+cancelledWaits+`, `+cancelledSettled+`
		FROM busgen_cancelled x`, func(s *sqlite3.Stmt) error {
		at := tables.RowKey{Subscription: s.ColumnInt64(0), Seq: s.ColumnInt64(1)}
		if s.ColumnBool(3) {
			asked = append(asked, askedRow{RowKey: at})
		}
		if s.ColumnBool(5) {
			old = true
			return nil
		}
		if found[at.Subscription] == nil {
			found[at.Subscription] = map[int64]cancelledRow{}
		}
		found[at.Subscription][at.Seq] = cancelledRow{s.ColumnText(2), s.ColumnBool(4)}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	undone, err := cs.readUndone(conn)
	if err != nil {
		return nil, false, err
	}
	for _, c := range cs.all() {
		if own, begun := found[c.id], undone[c.id]; own != nil || begun != nil || c.cancels.Load() {
			c.mark(own, begun)
		}
	}
	cs.findBegun(asked)
	return asked, old, nil
}

// readUndone returns when the deliveries began anew whose discards were undone since the last call. Like readCancelled
// it runs on the writer's goroutine, or while nothing of the consumers is written.
func (cs *consumers) readUndone(conn *database.Conn) (undone map[int64]map[int64]time.Time, err error) {
	last, err := conn.Int64("SELECT coalesce(max(id), 0) FROM busgen_audit")
	if err != nil || last == cs.undone {
		return nil, err
	}
	undone = map[int64]map[int64]time.Time{}
	err = conn.Query(`
		SELECT r.subscription, r.seq, r.since FROM busgen_audit a JOIN busgen_audit_deliveries d ON d.audit = a.id
		JOIN busgen_deliveries r ON r.subscription = d.subscription AND r.seq = d.seq
		WHERE a.id > ? AND a.action IN ('undiscard', 'undo') AND r.since IS NOT NULL`, func(s *sqlite3.Stmt) error {
		at := tables.RowKey{Subscription: s.ColumnInt64(0), Seq: s.ColumnInt64(1)}
		if undone[at.Subscription] == nil {
			undone[at.Subscription] = map[int64]time.Time{}
		}
		undone[at.Subscription][at.Seq] = database.Time(s, 2)
		return nil
	}, cs.undone)
	if err == nil {
		cs.undone = last
	}
	return undone, err
}

// findBegun notes which of these deliveries are begun in this process.
func (cs *consumers) findBegun(asked []askedRow) {
	if len(asked) == 0 {
		return
	}
	for _, c := range cs.all() {
		for i := range asked {
			if one := &asked[i]; one.Subscription == c.id {
				one.begun = one.begun || c.begun(one.Seq)
			}
		}
	}
}

// cancelDelivery notes that an open delivery is discarded, and makes it due if it has a
// row, so that the dispatcher sees it. What was cancelled before keeps its reason. With asks an answer is wanted.
func cancelDelivery(c *database.Conn, at tables.RowKey, reason string, asks bool) error {
	err := c.Exec(`
		INSERT INTO busgen_cancelled (seq, subscription, reason, at, answer) VALUES (?, ?, ?, ?, iif(?, `+notAnswered+`, NULL))
		ON CONFLICT DO UPDATE SET answer = coalesce(excluded.answer, answer)`, at.Seq, at.Subscription, reason, time.Now(), asks)
	if err != nil {
		return err
	}
	return hastenCancelled(c, at)
}

// hastenCancelled makes a cancelled delivery due that waits for its time, and has the next ones of its waitlists follow
// it.
func hastenCancelled(c *database.Conn, at tables.RowKey) error {
	const waits = `seq = ?1 AND subscription = ?2 AND state IN ('waiting', 'held')
		AND EXISTS (SELECT 1 FROM busgen_cancelled x WHERE x.seq = ?1 AND x.subscription = ?2)`
	var waitlists []string
	err := c.Query("SELECT waitlist, key FROM busgen_deliveries WHERE waitlist IS NOT NULL AND "+waits, func(s *sqlite3.Stmt) error {
		waitlists = append(waitlists, s.ColumnText(0), s.ColumnText(1))
		return nil
	}, at.Seq, at.Subscription)
	if err == nil {
		err = c.Exec("UPDATE busgen_deliveries SET state = 'waiting', due_at = ?3, waitlist = NULL, key = NULL, suspended = 0 WHERE "+waits, at.Seq, at.Subscription, tables.AtOnce)
	}
	for _, waitlist := range waitlists {
		if err == nil {
			_, err = freeFirst(c, at.Subscription, waitlist, 1, time.Now())
		}
	}
	return err
}

// cancelledWaits is the SQL condition that the delivery of row x of cancelled has a row of
// its own and is open.
const cancelledWaits = `
	EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.seq = x.seq AND d.subscription = x.subscription AND d.state <> 'dead')`

// cancelledSettled is the SQL condition that it is settled.
const cancelledSettled = `
	(NOT ` + cancelledWaits + `
	 AND NOT EXISTS (SELECT 1 FROM busgen_log l JOIN busgen_subscriptions s ON s.id = x.subscription WHERE l.seq = x.seq AND ` + notPassed + `))`

// forgetSettled removes the rows of deliveries that are settled: what they say must not
// hold for a replay or a retry. A row that is gone is an answer, too.
func forgetSettled(c *database.Conn) error {
	return c.Exec("DELETE FROM busgen_cancelled AS x WHERE " + cancelledSettled)
}

// markNew takes in what is cancelled of a new consumer. Only if there is something, it
// needs the writer, so that nothing of it is settled or cancelled meanwhile.
func (cs *consumers) markNew(ctx context.Context, c *consumer) error {
	n, err := valueOf(cs.ground, func(conn *database.Conn) (int64, error) {
		return conn.Int64("SELECT count(*) FROM busgen_cancelled WHERE subscription = ?", c.id)
	})
	if err != nil || n == 0 {
		return err
	}
	return cs.writer.do(ctx, func(conn *database.Conn) error {
		_, _, err := cs.readCancelled(conn)
		return err
	})
}
