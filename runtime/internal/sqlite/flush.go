package sqlite

import (
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// flush is what a consumer wants written: dispositions, rows for deliveries that
// the cursor passes or that run for long, and the cursor.
type flush struct {
	client       client
	id           int64 // of its subscription
	dispositions []settledDelivery
	rows         []rowChange
	cursor       int64
	moved        bool // the cursor differs from the one written
	express      bool // the cursor may have passed express events
	expressLeft  bool // others are left
	staged       bool // there are events to append
	waitlists    *waitlists
	frees        map[string]int // by waitlist: how many deliveries to make due
	freed        bool           // there were some
	none         bool           // no delivery is in a waitlist
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
		return flush{client: c, cursor: c.cursor}
	}
	f := flush{client: c, id: c.id, dispositions: c.dispositions}
	for _, d := range f.dispositions {
		f.staged = f.staged || len(d.staged) > 0
	}
	for _, change := range c.owed {
		if !change.settled { // else its disposition writes the row
			f.rows = append(f.rows, change)
		}
	}
	c.dispositions, c.owed = nil, nil
	f.waitlists, f.frees = &c.waitlists, c.waitlists.take()
	now := time.Now()
	young := false
	for _, own := range c.rows {
		if own.settled || own.started.IsZero() || own.row == tables.RowRunning {
			continue
		}
		if now.Sub(own.started) < runningDelay {
			young = true
			continue
		}
		own.row = tables.RowRunning
		f.rows = append(f.rows, rowChange{own, tables.RowRunning})
	}
	young = c.pass(&f, now) || young
	f.cursor = c.next - 1
	if len(c.way) > 0 {
		f.cursor = c.way[0].Seq - 1
	}
	f.moved = f.cursor != c.cursor
	f.express = f.moved && c.express.marks.Load()
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
		own.row = tables.RowWaiting
		if !own.started.IsZero() {
			own.row = tables.RowRunning
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
func (b *batch) writeFlush(f *flush) error {
	id, cancels := f.id, int64(0)
	if slices.ContainsFunc(f.dispositions, func(d settledDelivery) bool { return d.Kind != engine.Done }) {
		var err error
		if cancels, err = b.conn.Int64("SELECT EXISTS (SELECT 1 FROM busgen_cancelled)"); err != nil {
			return err
		}
	}
	for i := range f.dispositions {
		if err := b.writeSettled(id, &f.dispositions[i], cancels != 0); err != nil {
			return err
		}
	}
	for _, r := range f.rows {
		row := ledger.Row{Delivery: r.seen()}
		err := tables.Put(b.conn, tables.RowKey{Subscription: id, Seq: r.Seq}, &row, r.state, tables.AtOnce, nil, nil)
		if err != nil {
			return err
		}
	}
	if err := b.writeFrees(f); err != nil || !f.moved {
		return err
	}
	if err := b.passExpress(f); err != nil {
		return err
	}
	return b.conn.Exec("UPDATE busgen_subscriptions SET cursor = ? WHERE id = ?", f.cursor, id)
}

// writeSettled writes what becomes of a delivery. cancels says that some deliveries are cancelled.
func (b *batch) writeSettled(id int64, d *settledDelivery, cancels bool) error {
	at := tables.RowKey{Subscription: id, Seq: d.Seq}
	now, err := b.moment(at, d, cancels)
	if err != nil {
		return err
	}
	next, effects := d.seen().After(d.begun, &d.Disposition, now)
	switch d.again = never; {
	case effects.Again:
		d.again = 0
	case !next.Due.IsZero():
		d.again = next.Due.UnixMicro()
	}
	if effects.Unchanged {
		return nil // and the row may be newer: it began anew
	}
	if effects.Attempt != nil {
		if err := tables.AddAttempt(b.conn, at, *effects.Attempt); err != nil {
			return err
		}
	}
	if effects.Settled && d.Waitlist != "" { // it was cancelled: others do not wait for it any more
		if d.Frees = append(d.Frees, d.Waitlist); d.Key != "" {
			d.Frees = append(d.Frees, d.Key)
		}
	}
	staged := d.staged
	if effects.NoNotice {
		staged = slices.DeleteFunc(slices.Clone(staged), func(e logged) bool { return e.IfWanted })
	}
	if err := b.insertStaged(staged); err != nil {
		return err
	}
	if effects.Settled && d.cancelled {
		if err := tables.ForgetCancelled(b.conn, at); err != nil {
			return err
		}
	}
	var since any
	if next.Anew {
		since = next.Since
	}
	if next.Anew && d.Step != nil {
		if err := putStep(b.conn, at, next.Run, d.Step); err != nil {
			return err
		}
		if err := tables.NoteHistory(b.conn, at, now.At); err != nil {
			return err
		}
	}
	row := ledger.Row{}.Take(next, effects)
	if err := tables.Store(b.conn, at, &row, now.At, since); err != nil || len(d.Awaits) == 0 || !next.Suspended {
		return err
	}
	return b.awaits.wait(b.conn, at, d.Awaits)
}

// moment returns what holds in the transaction that writes the end of a turn.
func (b *batch) moment(at tables.RowKey, d *settledDelivery, cancels bool) (now ledger.Moment, err error) {
	now.At, now.Due = b.clock.putOff(d.Due)
	if d.Kind == engine.Done {
		return now, nil // it is handled, whatever somebody wants
	}
	if cancels {
		err = b.conn.Query("SELECT reason FROM busgen_cancelled WHERE seq = ? AND subscription = ?", func(s *sqlite3.Stmt) error {
			now.Cancelled, now.Why = true, s.ColumnText(0)
			return nil
		}, at.Seq, at.Subscription)
	}
	if err == nil && d.Kind == engine.Hold && d.Disposition.Held == nil {
		// In the transaction that sees whether the pause is still there: else
		// it could be held for ever by one that has ended.
		now.Paused, err = typePaused(b.conn, d.Type)
	}
	return now, err
}

// insertStaged appends events that belong to a disposition, except those that
// nobody wants, and those whose key another event has.
func (b *batch) insertStaged(staged []logged) error {
	from := 0 // of those that are to be written
	for i := range staged {
		e := &staged[i]
		if !e.IfWanted && e.Dedupe == nil {
			continue
		}
		if err := b.insert(staged[from:i]); err != nil {
			return err
		}
		from = i
		wanted, err := false, error(nil)
		if e.IfWanted {
			wanted, err = b.wanted(e.Type)
		} else {
			wanted, err = b.keep(e)
		}
		if err != nil {
			return err
		}
		if !wanted {
			from = i + 1
		}
	}
	return b.insert(staged[from:])
}

// wanted tells whether some subscription is for one of the bus's own types, which may
// be for it by another name.
func (b *batch) wanted(ownType string) (bool, error) {
	name := ownType
	if base, dead := strings.CutPrefix(ownType, engine.DeadType("")); dead {
		var err error
		if _, name, err = noticeType(b.conn, base); err != nil {
			return false, err
		}
	}
	found, err := b.conn.Int64("SELECT EXISTS (SELECT 1 FROM busgen_routes r JOIN busgen_types t ON t.id = r.type WHERE t.name = ?)", name)
	return found > 0, err
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
		c.dueAt(d.again)
		if d.again == 0 {
			c.express.look()
		}
		if d.Waitlist != "" {
			c.waitlists.written(d.Seq, &d.Disposition)
		}
	}
	c.endFrees(f)
	if f.express {
		c.express.marks.Store(f.expressLeft)
	}
	c.mu.Unlock()
	c.ground.waiters.settled(old, f)
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
	c.waitlists.back(f.frees)
	c.queued = queuedDispositions
	if c.failingSince.IsZero() {
		c.failingSince = time.Now()
	}
	delay := faultDelay
	if time.Since(c.failingSince) >= longFault {
		delay = longFaultDelay
	}
	c.writer.schedule(c, delay, false)
}
