package sqlite

import (
	"errors"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// Poll implements [engine.Consumer].
func (c *consumer) Poll(dst []*engine.Delivery, limit int) (_ []*engine.Delivery, more bool, err error) {
	c.polling.Lock()
	defer c.polling.Unlock()
	dst, found, err := c.pollDue(dst, limit)
	if more = true; err == nil && found < limit {
		dst, more, err = c.pollLog(dst, limit-found)
	}
	if c.gone() { // it was polled from a log that is not there any more
		return dst[:0], false, nil
	}
	return dst, more, fault.Wrap("read", c.ground.path, err)
}

// Reread implements [engine.Consumer].
func (c *consumer) Reread() (soon bool) {
	c.polling.Lock()
	defer c.polling.Unlock()
	c.doubts, c.ahead = true, nil
	c.express.look()
	c.mu.Lock()
	defer c.mu.Unlock()
	late := -c.until(c.nextDue)
	c.nextDue = 0
	return late >= 0 && late < time.Second
}

// Failing implements [engine.Consumer].
func (c *consumer) Failing(after int64, limit int) (found []*engine.Delivery, err error) {
	size := int64(0)
	err = c.ground.read(func(conn *database.Conn) error {
		return conn.Query(`
			SELECT d.seq, l.id, l.type, `+tables.Bounded("l.payload")+`, `+tables.Bounded("l.metadata")+`, `+tables.RowColumns+`
			FROM busgen_deliveries d JOIN busgen_log l ON l.seq = d.seq
			WHERE d.subscription = ? AND d.seq > ? AND `+failing+`
			ORDER BY d.seq LIMIT ?`, func(s *sqlite3.Stmt) error {
			if size += tables.BytesOf(s, 3) + tables.BytesOf(s, 4); size > tables.PageBytes && len(found) > 0 {
				return errPageFull
			}
			d := &engine.Delivery{Record: &engine.Record{Seq: s.ColumnInt64(0), ID: database.UUID(s, 1)}}
			tables.ScanRow(s, 5).HandOut(d)
			if err := tables.ReadBounded(conn, s, 3, d.Record); err != nil {
				return err
			}
			if err := c.ground.types.resolve(conn, s.ColumnInt64(2), d.Record); err != nil {
				return err
			}
			found = append(found, d)
			return nil
		}, c.id, after, limit)
	})
	if errors.Is(err, errPageFull) {
		err = nil
	}
	return found, fault.Wrap("read", c.ground.path, err)
}

// exempt is the SQL condition for Exempt of the delivery of row d and event l. Events that an edit has made are like
// delayed ones. Of a row that is not dead the reason is that of its death before it was retried.
const exempt = "(l.due_at IS NOT NULL OR d.reason IS NOT NULL)"

// failing is the SQL condition for Failing of the row. One that was put off is due after the moment at which it began
// anew.
const failing = "(d.state <> 'dead' AND NOT " + exempt + ` AND d.waitlist IS NULL AND (d.failures > 0 OR d.suspect OR d.state = 'held' OR d.undoing
	OR d.due_at > 0 AND (d.since IS NULL OR d.due_at > d.since)))`

// pollDue hands over the retries that are due.
func (c *consumer) pollDue(dst []*engine.Delivery, limit int) (_ []*engine.Delivery, found int, err error) {
	now := c.ground.clock.now().UnixMicro()
	c.mu.Lock()
	if c.nextDue > now {
		c.mu.Unlock()
		return dst, 0, nil
	}
	// A retry that is written from here on lowers nextDue again.
	c.nextDue = never
	c.reading = true
	busy := len(c.rows)
	c.mu.Unlock()

	due, size := int64(never), int64(0)
	err = c.ground.read(func(conn *database.Conn) error {
		err := conn.Query(selectDelivery+`
			WHERE d.subscription = ? AND d.state <> 'dead' AND `+waits+` AND d.due_at BETWEEN 0 AND ?
			ORDER BY d.due_at, d.seq LIMIT ?`, func(s *sqlite3.Stmt) error {
			if due != never {
				return nil
			}
			if size += tables.BytesOf(s, 4) + tables.BytesOf(s, 5); found == limit || found > 0 && size > tables.PageBytes {
				due, found = s.ColumnInt64(1), limit // more than fit; come back for them
				return nil
			}
			own, err := c.waitingRow(conn, s)
			if err != nil {
				return err
			}
			if c.hold(own, s) {
				dst = append(dst, &own.Delivery)
				found++
			}
			return nil
		}, c.id, now, limit+busy+1)
		if err != nil || due != never {
			return err
		}
		return conn.Query(`
			SELECT due_at FROM busgen_deliveries d
			WHERE subscription = ? AND state <> 'dead' AND `+waits+` AND due_at > ?
			ORDER BY due_at LIMIT 1`, func(s *sqlite3.Stmt) error {
			due = s.ColumnInt64(0)
			return nil
		}, c.id, now)
	})
	if err != nil {
		due = c.ground.clock.now().Add(faultDelay).UnixMicro()
	}
	c.endReading(due)
	return dst, found, err
}

// selectDelivery returns rows for waitingRow.
var selectDelivery = `
			SELECT d.seq, d.due_at, l.id, l.type, ` + tables.Bounded("l.payload") + `, ` + tables.Bounded("l.metadata") + `,
			       (SELECT x.reason FROM busgen_cancelled x WHERE x.seq = d.seq AND x.subscription = d.subscription), ` + tables.RowColumns + `
			FROM busgen_deliveries d JOIN busgen_log l ON l.seq = d.seq`

// firstOfRow is the place of rowColumns in selectDelivery.
const firstOfRow = 7

// A delivery that is held because the program cannot read its version has a wait: due_at is when that ends, and wait
// how long it is in all. One whose type is paused has none.
const (
	heldForVersion = "(d.state = 'held' AND d.wait > 0)"
	heldSince      = "iif(" + heldForVersion + ", d.due_at - d.wait, NULL)"
)

// waits is the SQL condition that the delivery of row d comes by itself when it is due.
const waits = "(d.state = 'waiting' OR " + heldForVersion + ")"

// waitingRow makes the delivery of a row that waits.
func (c *consumer) waitingRow(conn *database.Conn, s *sqlite3.Stmt) (*delivery, error) {
	row := tables.ScanRow(s, firstOfRow)
	own := &delivery{row: tables.RowWaiting}
	own.Record, own.Token = &engine.Record{Seq: s.ColumnInt64(0), ID: database.UUID(s, 2), CreatedAt: database.Time(s, firstOfRow+10)}, own
	if own.Seq <= c.redelivered {
		row.Delivery = row.Unrecorded()
	}
	row.HandOut(&own.Delivery)
	own.express = s.ColumnInt64(1) < 0
	own.Exempt = own.Exempt || own.express
	if err := tables.ReadBounded(conn, s, 4, own.Record); err != nil {
		return nil, err
	}
	return own, c.ground.types.resolve(conn, s.ColumnInt64(3), own.Record)
}

// PollEvent implements [engine.Consumer].
func (c *consumer) PollEvent(seq int64) (d *engine.Delivery, again time.Time, err error) {
	c.polling.Lock()
	defer c.polling.Unlock()
	c.mu.Lock()
	own := c.rows[seq]
	if own != nil {
		settled := own.settled
		c.mu.Unlock()
		if settled { // and soon written
			again = time.Now().Add(flushDelay)
		}
		return nil, again, nil
	}
	c.reading = true
	c.mu.Unlock()
	now := c.ground.clock.now().UnixMicro()
	err = c.ground.read(func(conn *database.Conn) error {
		return conn.Query(selectDelivery+`
			WHERE d.subscription = ? AND d.seq = ? AND d.state IN ('waiting', 'held')`, func(s *sqlite3.Stmt) error {
			if row := tables.ScanRow(s, firstOfRow); row.State == ledger.Held && row.HeldSince.IsZero() && row.Waitlist == "" {
				again = time.Now()
				return nil
			}
			if due := s.ColumnInt64(1); due > now {
				again = time.Now().Add(c.until(due))
				return nil
			}
			own, err := c.waitingRow(conn, s)
			if err == nil && c.hold(own, s) {
				d = &own.Delivery
			}
			return err
		}, c.id, seq)
	})
	c.endReading(never)
	if c.gone() {
		return nil, time.Time{}, nil
	}
	return d, again, fault.Wrap("read", c.ground.path, err)
}

// endReading ends the reading of rows. What was settled meanwhile may have been
// read as waiting, so it was held until now.
func (c *consumer) endReading(due int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dueAt(due)
	c.reading = false
	if len(c.writtenMeanwhile) == 0 {
		return
	}
	for _, seq := range c.writtenMeanwhile {
		delete(c.rows, seq)
	}
	c.writtenMeanwhile = c.writtenMeanwhile[:0]
	c.ground.waiters.all() // they were told while it was held
}

// hold takes the delivery of a row of selectDelivery, unless it is being handled already.
// It marks a delivery that the file says is cancelled: whoever has cancelled it has also
// made it due, and the marks may be older than that.
func (c *consumer) hold(own *delivery, s *sqlite3.Stmt) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows[own.Seq] != nil {
		return false
	}
	c.rows[own.Seq] = own
	if s.ColumnType(6) != sqlite3.NULL {
		if c.cancelled == nil {
			c.cancelled = map[int64]string{}
		}
		c.cancelled[own.Seq] = s.ColumnText(6)
		c.cancels.Store(true)
	}
	return true
}

// dueAt notes that a waiting row is due at the given microsecond. The caller
// holds mu.
func (c *consumer) dueAt(due int64) {
	if due >= c.nextDue {
		return
	}
	c.nextDue = due
	delay := max(0, c.until(due))
	if c.timer == nil {
		c.timer = time.AfterFunc(delay, c.alarm)
	} else {
		c.timer.Reset(delay)
	}
}

// until returns how long it is until the given microsecond.
func (c *consumer) until(due int64) time.Duration {
	return time.UnixMicro(due).Sub(c.ground.clock.now())
}

// alarm runs when a retry may be due.
func (c *consumer) alarm() {
	c.mu.Lock()
	wake := c.wake
	if left := c.until(c.nextDue); c.nextDue != never && left > 0 {
		c.timer.Reset(left) // if the clock was set, somebody notices soon
	}
	c.mu.Unlock()
	wake()
}

// pollLog hands over what comes next in the log, and reports whether the log goes on behind that.
func (c *consumer) pollLog(dst []*engine.Delivery, limit int) (_ []*engine.Delivery, more bool, err error) {
	c.mu.Lock()
	from, starves := c.next, c.starving()
	c.mu.Unlock()
	if starves {
		return dst, false, nil
	}
	doubts := c.doubts
	c.doubts = false
	if from >= c.ground.tail.end() && !doubts {
		return dst, false, nil
	}
	events, next, held := c.ground.tail.read(c.buffer[:0], from, limit, c.id, c.types.match)
	if held && !(doubts && len(events) == 0) {
		c.ahead = nil
	} else {
		if events, next, err = c.readBacklog(events, from, limit); err != nil {
			return dst, true, err
		}
	}
	c.buffer = events

	c.mu.Lock()
	defer c.mu.Unlock()
	owns := make([]delivery, len(events))
	for i := range events {
		own := &owns[i]
		own.Delivery = engine.Delivery{
			Record: &events[i].Record, Uncounted: c.before(events[i].Seq), Since: events[i].CreatedAt, Token: own,
		}
		c.way = append(c.way, own)
		dst = append(dst, &own.Delivery)
	}
	clear(events)
	c.next = next
	if len(events) == 0 {
		c.queue(flushDelay) // the cursor moves over events that are not for us
	}
	return dst, next < c.ground.tail.end(), nil // what is behind the end from now on is followed by a call
}

// before returns how many executions may have happened that are on no record: the
// handler may have succeeded just before the process died.
func (c *consumer) before(seq int64) int {
	if seq <= c.redelivered {
		return 1
	}
	return 0
}

// selectPage returns events that are for subscription ?1 and have no row in deliveries. That
// there is no row at all, as nearly always, is asked once and not for each of them.
const selectPage = `
	SELECT l.seq, l.id, l.type, l.payload, l.metadata, l.created_at FROM busgen_log l
	WHERE l.seq >= ?2 AND l.seq <= ?3
	  AND l.due_at IS NULL AND l.type IN (SELECT type FROM busgen_routes WHERE subscription = ?1)
	  AND ((SELECT NOT EXISTS (SELECT 1 FROM busgen_deliveries WHERE subscription = ?1 AND seq >= ?2))
	       OR NOT EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.subscription = ?1 AND d.seq = l.seq))
	  AND ((SELECT NOT EXISTS (SELECT 1 FROM busgen_express WHERE subscription = ?1 AND seq >= ?2))
	       OR NOT EXISTS (SELECT 1 FROM busgen_express x WHERE x.subscription = ?1 AND x.seq = l.seq))
	ORDER BY l.seq LIMIT ?4`

// loggedAtOnce is how many events of a page are allocated together.
const loggedAtOnce = 16

// errPageFull ends the reading of a page that has enough bytes.
var errPageFull = errors.New("the page has enough bytes")

// selectLongPage is selectPage for a page with an event that is long: longer values come as their number of bytes.
var selectLongPage = strings.Replace(selectPage, "l.payload, l.metadata", tables.Bounded("l.payload")+", "+tables.Bounded("l.metadata"), 1)

// readPage reads from the file what the tail no longer holds: up to limit events, and no more once they have so many
// bytes. Deliveries that have a row come from there.
func (c *consumer) readPage(dst []*logged, from int64, limit, bytes int) (_ []*logged, next int64, err error) {
	err = c.ground.read(func(conn *database.Conn) error {
		end, err := conn.Int64("SELECT max(seq) FROM busgen_log")
		if err != nil {
			return err
		}
		next = end + 1
		page := &page{types: c.ground.types, conn: conn, events: dst, limit: limit, bytes: bytes, end: end}
		err = conn.Limited(tables.InlineBytes, func() error { return conn.Query(selectPage, page.add, c.id, from, end, limit) })
		if errors.Is(err, sqlite3.TOOBIG) {
			if n := len(page.events); n > len(dst) {
				from = page.events[n-1].Seq + 1
			}
			page.long = true
			err = conn.Query(selectLongPage, page.add, c.id, from, end, page.limit-len(page.events))
		}
		dst = page.events
		if errors.Is(err, errPageFull) {
			next, err = page.next, nil
		}
		return err
	})
	return dst, next, err
}

// page is what readPage reads.
type page struct {
	types  *typeTable
	conn   *database.Conn
	events []*logged
	limit  int   // events
	bytes  int   // that it may have yet
	end    int64 // the last seq of the log
	next   int64 // from where to go on, if it is full
	long   bool  // the rows are those of selectLongPage

	free   []logged
	copies tables.Copies
}

// add adds a row.
func (p *page) add(s *sqlite3.Stmt) (err error) {
	seq := s.ColumnInt64(0)
	if p.long && len(p.events) > 0 && tables.BytesOf(s, 3)+tables.BytesOf(s, 4) > int64(p.bytes) {
		p.next = seq
		return errPageFull
	}
	more := int(min(int64(p.limit-len(p.events)), p.end+1-seq))
	if len(p.free) == 0 {
		p.free = make([]logged, min(more, loggedAtOnce))
	}
	event := &p.free[0]
	p.free = p.free[1:]
	event.typeID = s.ColumnInt64(2)
	event.Record = engine.Record{Seq: seq, ID: database.UUID(s, 1), CreatedAt: database.Time(s, 5)}
	if p.long {
		err = tables.ReadBounded(p.conn, s, 3, &event.Record)
	} else {
		event.Payload, event.Metadata = p.copies.Of(s.ColumnRawBlob(3), more), p.copies.Of(s.ColumnRawBlob(4), more)
	}
	if err == nil {
		err = p.types.resolve(p.conn, event.typeID, &event.Record)
	}
	if err != nil {
		return err
	}
	p.events = append(p.events, event)
	if p.bytes -= len(event.Payload) + len(event.Metadata); len(p.events) < p.limit && p.bytes > 0 {
		return nil
	}
	p.next = seq + 1
	return errPageFull
}
