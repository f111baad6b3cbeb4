package sqlite

import (
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// flush is what a consumer wants written: dispositions, rows for deliveries that
// the cursor passes or that run for long, and the cursor.
type flush struct {
	consumer     *consumer
	dispositions []settledDelivery
	rows         []rowChange
	cursor       int64
	moved        bool // the cursor differs from the one written
	staged       bool // there are events to append
}

// rowChange is a row to be written for a delivery that is not settled.
type rowChange struct {
	*delivery
	state string
}

// take collects what is to be written. It runs on the writer's goroutine.
func (c *consumer) take() flush {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queued = queuedNot
	if c.ended {
		return flush{consumer: c, cursor: c.cursor}
	}
	f := flush{consumer: c, dispositions: c.dispositions}
	for _, d := range f.dispositions {
		f.staged = f.staged || len(d.staged) > 0
	}
	for _, change := range c.owed {
		if !change.settled { // else its disposition writes the row
			f.rows = append(f.rows, change)
		}
	}
	c.dispositions, c.owed = nil, nil
	now := time.Now()
	young := false
	for _, own := range c.rows {
		if own.settled || own.started.IsZero() || own.row == rowRunning {
			continue
		}
		if now.Sub(own.started) < runningDelay {
			young = true
			continue
		}
		own.row = rowRunning
		f.rows = append(f.rows, rowChange{own, rowRunning})
	}
	young = c.pass(&f, now) || young
	f.cursor = c.next - 1
	if len(c.way) > 0 {
		f.cursor = c.way[0].Seq - 1
	}
	f.moved = f.cursor != c.cursor
	if young {
		c.look()
	}
	return f
}

// pass makes the cursor go past every delivery that is settled or has been
// running for long, by giving a row to each that is not settled. No row must
// stay above the cursor: once it is gone the event would be found again on the
// way. It reports whether an attempt runs that may be long later.
func (c *consumer) pass(f *flush, now time.Time) (young bool) {
	last := -1
	for i, own := range c.way {
		if own.settled || own.long(now) {
			last = i
		}
	}
	for _, own := range c.way[:last+1] {
		if own.settled {
			continue
		}
		own.row = rowWaiting
		if !own.started.IsZero() {
			own.row = rowRunning
		}
		c.rows[own.Seq] = own
		f.rows = append(f.rows, rowChange{own, own.row})
	}
	left := append(c.way[:0], c.way[last+1:]...)
	clear(c.way[len(left):])
	c.way = left
	for _, own := range c.way {
		young = young || !own.started.IsZero()
	}
	return young
}

// long says that an attempt has been running for so long that the file should
// say so.
func (d *delivery) long(now time.Time) bool {
	return !d.settled && !d.started.IsZero() && now.Sub(d.started) >= runningDelay
}

// writeFlush writes f, within the writer's transaction.
func (w *writer) writeFlush(f *flush) error {
	id := f.consumer.id
	for i := range f.dispositions {
		if err := w.writeSettled(id, &f.dispositions[i]); err != nil {
			return err
		}
	}
	for _, r := range f.rows {
		err := w.conn.Exec(upsertDelivery, id, r.Seq, r.state, r.Failures, r.Uncounted, number(r.MaxAttempts), r.Crashed, suspicion(&r.Delivery),
			atOnce, nil, nil, nil, text(r.Progress), nil, r.Snoozes)
		if err != nil {
			return err
		}
	}
	if !f.moved {
		return nil
	}
	return w.conn.Exec("UPDATE busgen_subscriptions SET cursor = ? WHERE id = ?", f.cursor, id)
}

// upsertDelivery writes the row of a delivery. One that somebody has cancelled meanwhile, which this process does
// not know yet, is due at once instead of later. The reason of its former death stays.
const upsertDelivery = `
	INSERT INTO busgen_deliveries (subscription, seq, state, failures, uncounted, max_attempts, crashed, suspect,
		due_at, dead_at, reason, fingerprint, progress, wait, snoozes)
	VALUES (?1, ?2, iif(?3 = 'held' AND ` + isCancelled + `, 'waiting', ?3), ?4, ?5, ?6, ?7, ?8,
		iif(?9 > 0 AND ` + isCancelled + `, 0, ?9), ?10, ?11, ?12, ?13, ?14, ?15)
	ON CONFLICT DO UPDATE SET state = excluded.state, failures = excluded.failures, uncounted = excluded.uncounted,
		max_attempts = excluded.max_attempts, crashed = excluded.crashed, suspect = excluded.suspect,
		due_at = excluded.due_at, dead_at = excluded.dead_at, reason = coalesce(excluded.reason, reason),
		fingerprint = excluded.fingerprint, progress = excluded.progress,
		wait = excluded.wait, snoozes = excluded.snoozes`

const isCancelled = "EXISTS (SELECT 1 FROM busgen_cancelled WHERE seq = ?2 AND subscription = ?1)"

const insertAttempt = `
	INSERT INTO busgen_attempts (seq, subscription, n, kind, started_at, ended_at, error, error_type, member, stack, log)
	SELECT ?1, ?2, 1 + (SELECT count(*) FROM busgen_attempts WHERE seq = ?1 AND subscription = ?2), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10`

// writeSettled writes what became of a delivery.
func (w *writer) writeSettled(id int64, d *settledDelivery) error {
	if d.Kind == engine.Dead {
		if err := w.discardIfCancelled(id, d); err != nil {
			return err
		}
	}
	failures := d.Failures
	if a := d.Attempt; a != nil {
		failures++
		err := w.conn.Exec(insertAttempt, d.Seq, id, a.Kind, a.Started, a.Ended, a.Error, text(a.ErrorType), text(a.Member), text(a.Stack), text(a.Log))
		if err != nil {
			return err
		}
	}
	if err := w.insertStaged(d.staged); err != nil {
		return err
	}
	snoozes, wait := d.Snoozes, any(nil)
	maxAttempts := d.Delivery.MaxAttempts
	if d.Kind == engine.Retry {
		maxAttempts = d.Disposition.MaxAttempts
	}
	row := func(state string, due, dead, reason, fingerprint any) error {
		return w.conn.Exec(upsertDelivery, id, d.Seq, state, failures, d.uncounted(), number(maxAttempts), d.crashes(), d.suspect(),
			due, dead, reason, fingerprint, text(d.Progress), wait, snoozes)
	}
	d.undone = false
	if d.cancelled || d.Cancelled {
		if err := forgetCancelled(w.conn, rowKey{id, d.Seq}); err != nil {
			return err
		}
		d.undone = d.Cancelled && w.conn.Changes() == 0
	}
	switch d.Kind {
	case engine.Done:
		if err := noteHandled(w.conn, id, d.Seq); err != nil {
			return err
		}
		return w.conn.Exec("DELETE FROM busgen_deliveries WHERE subscription = ? AND seq = ?", id, d.Seq)
	case engine.Discard:
		err := discardAfter(w.conn, rowKey{id, d.Seq}, d.Reason, failures+d.uncounted(), text(d.Progress), d.suspect())
		if err != nil || !d.undone {
			return err
		}
		return restoreDiscarded(w.conn, discardedRow{rowKey: rowKey{id, d.Seq}})
	case engine.Retry, engine.Snooze:
		due, left := w.log.clock.putOff(d.Due)
		wait = left.Microseconds()
		if d.Asked {
			snoozes++
		}
		return row(rowWaiting, due, nil, nil, nil)
	case engine.Hold:
		if !d.Due.IsZero() {
			due, _ := w.log.clock.putOff(d.Due)
			wait = max(due.Sub(*d.Disposition.Held), time.Microsecond).Microseconds()
			return row(rowHeld, due, nil, nil, nil)
		}
		// In the transaction that sees whether the pause is still there: else
		// it could be held for ever by one that has ended.
		paused, err := typePaused(w.conn, d.Type)
		if err != nil {
			return err
		}
		state := rowWaiting
		wait = 0
		if paused {
			state = rowHeld
		}
		return row(state, w.log.clock.now(), nil, nil, nil)
	case engine.Dead:
		return row(rowDead, nil, time.Now(), d.Reason, text(d.Fingerprint))
	default: // engine.Release
		if !d.begun && d.Delivery.Progress == d.Progress && len(d.staged) == 0 {
			return nil // nothing has happened, and the row may be newer: it began anew
		}
		return row(rowWaiting, atOnce, nil, nil, nil)
	}
}

// discardIfCancelled makes a discard of a dead letter that somebody has cancelled, which this process did not know yet
// when its attempt ended. So there is nothing to announce.
func (w *writer) discardIfCancelled(id int64, d *settledDelivery) error {
	return w.conn.Query("SELECT reason FROM busgen_cancelled WHERE seq = ? AND subscription = ?", func(s *sqlite3.Stmt) error {
		d.Kind, d.Reason, d.Disposition.Cancelled = engine.Discard, s.ColumnText(0), true
		d.staged = slices.DeleteFunc(d.staged, func(e logged) bool { return e.IfWanted })
		return nil
	}, d.Seq, id)
}

// discard settles a dead letter.
func discard(c *database.Conn, at rowKey, reason string) error {
	return discardAfter(c, at, reason, nil, nil, nil)
}

// discardAfter settles a delivery without its having been handled. Of an open one the row may be older than what its
// turn has brought: how many executions may have happened so far, its progress, and whether it is a suspect.
func discardAfter(c *database.Conn, at rowKey, reason string, executions, progress, suspect any) error {
	err := c.Exec(`
		INSERT OR REPLACE INTO busgen_discarded (seq, subscription, reason, at, dead_at, dead_reason, fingerprint, failures, progress, redriven, replayed, uncounted, suspect)
		SELECT ?2, ?1, ?3, ?4, d.dead_at, d.reason, d.fingerprint, coalesce(?5, d.failures), iif(?5 IS NULL, d.progress, ?6), d.redriven, d.replayed,
		       d.uncounted, coalesce(?7, d.suspect)
		FROM (SELECT 1) LEFT JOIN busgen_deliveries d ON d.subscription = ?1 AND d.seq = ?2`,
		at.subscription, at.seq, reason, time.Now(), executions, progress, suspect)
	if err != nil {
		return err
	}
	if err := c.Exec("DELETE FROM busgen_deliveries WHERE subscription = ? AND seq = ?", at.subscription, at.seq); err != nil {
		return err
	}
	return forgetCancelled(c, at)
}

// insertStaged appends events that belong to a disposition, except those that
// nobody wants, and those whose key another event has.
func (w *writer) insertStaged(staged []logged) error {
	from := 0 // of those that are to be written
	for i := range staged {
		e := &staged[i]
		if !e.IfWanted && e.Dedupe == nil {
			continue
		}
		if err := w.insert(staged[from:i]); err != nil {
			return err
		}
		from = i
		wanted, err := false, error(nil)
		if e.IfWanted {
			wanted, err = w.wanted(e.Type)
		} else {
			wanted, err = w.keep(e)
		}
		if err != nil {
			return err
		}
		if !wanted {
			from = i + 1
		}
	}
	return w.insert(staged[from:])
}

// wanted tells whether some subscription is for one of the bus's own types, which may
// be for it by another name.
func (w *writer) wanted(ownType string) (bool, error) {
	name := ownType
	if base, dead := strings.CutPrefix(ownType, engine.DeadType("")); dead {
		var err error
		if _, name, err = noticeType(w.conn, base); err != nil {
			return false, err
		}
	}
	found, err := w.conn.Int64("SELECT EXISTS (SELECT 1 FROM busgen_routes r JOIN busgen_types t ON t.id = r.type WHERE t.name = ?)", name)
	return found > 0, err
}

// number is NULL for 0.
func number(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

// text is NULL for an empty text.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// written is told that f is in the file.
func (c *consumer) written(f flush) {
	c.mu.Lock()
	old := c.cursor
	c.cursor, c.failingSince = f.cursor, time.Time{}
	for _, d := range f.dispositions {
		if c.reading {
			c.writtenMeanwhile = append(c.writtenMeanwhile, d.Seq)
		} else {
			delete(c.rows, d.Seq)
		}
		switch d.Kind {
		case engine.Retry, engine.Snooze:
			due, _ := c.log.clock.putOff(d.Due)
			c.dueAt(due.UnixMicro())
		case engine.Hold:
			due := int64(0)
			if !d.Due.IsZero() {
				at, _ := c.log.clock.putOff(d.Due)
				due = at.UnixMicro()
			}
			c.dueAt(due)
		case engine.Release:
			c.dueAt(0)
		case engine.Discard:
			if d.undone {
				c.dueAt(0)
			}
		}
	}
	c.mu.Unlock()
	c.log.waiters.settled(old, f)
}

// restore takes back what could not be written, to try again later.
func (c *consumer) restore(f flush) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.dispositions = append(f.dispositions, c.dispositions...)
	c.owed = append(f.rows, c.owed...)
	c.queued = queuedDispositions
	if c.failingSince.IsZero() {
		c.failingSince = time.Now()
	}
	delay := faultDelay
	if time.Since(c.failingSince) >= longFault {
		delay = longFaultDelay
	}
	c.log.writer.schedule(c, delay, false)
}
