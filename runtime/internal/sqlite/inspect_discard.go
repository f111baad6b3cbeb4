package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// discard is Cancel that asks nobody.
func (i *Inspection) discard(ctx context.Context, spec engine.Cancellation) (discarded []string, err error) {
	err = i.changeAll(ctx, "discard an event of", spec.Subscription, func(c *database.Conn, only tables.KnownSubscription) error {
		discarded = nil
		seq, err := c.Int64("SELECT coalesce(max(seq), 0) FROM busgen_log WHERE id = ?", spec.Event[:])
		if err == nil && seq == 0 {
			err = &event.NotFoundError{Thing: "event", Name: spec.Event.String()}
		}
		if err != nil {
			return err
		}
		if err := forgetSettled(c); err != nil {
			return err
		}
		all, err := readDeliveries(c, seq)
		settled := &event.NotOpenError{Event: spec.Event}
		for _, d := range all {
			if err != nil {
				return err
			}
			switch {
			case only.ID != 0 && d.subscription != only.ID:
			case d.open():
				discarded = append(discarded, d.Subscription)
				if err = cancelDelivery(c, tables.RowKey{Subscription: d.subscription, Seq: seq}, spec.Reason, false); err == nil {
					err = tables.Audit(c, event.AuditEntry{
						Actor: spec.Actor, Action: "discard", EventID: spec.Event, Subscription: d.Subscription, Count: 1, Detail: spec.Reason,
					})
				}
			default:
				settled.States = append(settled.States, d.Subscription+" "+d.State)
			}
		}
		if err == nil && len(discarded) == 0 {
			err = settled
		}
		return err
	})
	return discarded, err
}

func (d deliveryState) open() bool {
	switch d.State {
	case event.StatePending, event.StateRunning, event.StateWaiting, event.StateHeld:
		return true
	}
	return false
}

// Undiscard implements [engine.EventDiscarder].
func (i *Inspection) Undiscard(ctx context.Context, u event.Undo) (undone event.Undone, err error) {
	err = i.changeAll(ctx, "undo a discard in", u.Subscription, func(c *database.Conn, only tables.KnownSubscription) error {
		undone = event.Undone{}
		entry := event.AuditEntry{Actor: i.actor, Action: "undiscard", EventID: u.Event, Subscription: only.Name}
		if u.Action != 0 {
			entry.Detail = "action " + strconv.FormatInt(u.Action, 10)
		}
		if err := forgetSettled(c); err != nil {
			return err
		}
		found, err := chosenDiscards(c, u, only.ID)
		if err != nil {
			return err
		}
		var places []tables.RowKey
		for _, one := range found {
			if !one.passed || !(ledger.Row{State: ledger.Discarded, Reason: one.reason}).Restorable() {
				undone.Left++
				continue
			}
			if err := restoreDiscarded(c, one, time.Now()); err != nil {
				return err
			}
			places = append(places, one.RowKey)
			if one.dead {
				undone.Dead++
			} else {
				undone.Due++
			}
		}
		if entry.Count = len(places); entry.Count == 0 {
			return nil
		}
		if err := tables.Audit(c, entry); err != nil {
			return err
		}
		return touched(c, c.LastInsertRowID(), places)
	})
	return undone, err
}

// discardedRow is a delivery that was discarded.
type discardedRow struct {
	tables.RowKey
	reason             string
	dead, open, passed bool // it was dead; it is not yet settled; the cursor has passed it
}

// chosenDiscards returns the discards of one subscription, or of all for 0.
func chosenDiscards(c *database.Conn, u event.Undo, subscription int64) (found []discardedRow, err error) {
	err = c.Query(`
		SELECT x.subscription, x.seq, x.reason, x.dead_at IS NOT NULL, x.open,
		       x.open OR NOT (`+notPassed+`)
		FROM (SELECT seq, subscription, reason, dead_at, 0 AS open FROM busgen_discarded
		      UNION ALL SELECT seq, subscription, reason, NULL, 1 FROM busgen_cancelled) x
		JOIN busgen_log l ON l.seq = x.seq JOIN busgen_subscriptions s ON s.id = x.subscription
		WHERE (?1 = 0 OR (x.seq, x.subscription) IN (SELECT seq, subscription FROM busgen_audit_deliveries WHERE audit = ?1))
		  AND (?1 <> 0 OR l.id = ?2) AND ?3 IN (0, s.id)
		  AND NOT EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.seq = x.seq AND d.subscription = x.subscription AND NOT x.open)
		ORDER BY x.seq, x.subscription`, func(s *sqlite3.Stmt) error {
		found = append(found, discardedRow{
			RowKey: tables.RowKey{Subscription: s.ColumnInt64(0), Seq: s.ColumnInt64(1)},
			reason: s.ColumnText(2), dead: s.ColumnBool(3), open: s.ColumnBool(4), passed: s.ColumnBool(5),
		})
		return nil
	}, u.Action, u.Event[:], subscription)
	return found, err
}

// restoreDiscarded brings back what was discarded, or was to be.
func restoreDiscarded(c *database.Conn, one discardedRow, now time.Time) error {
	if !one.open {
		row, err := readDiscarded(c, one.RowKey)
		if err == nil {
			row = row.Restore(now)
			err = tables.Store(c, one.RowKey, &row, now, sinceOf(&row))
		}
		if err != nil {
			return err
		}
		return c.Exec("DELETE FROM busgen_discarded WHERE seq = ? AND subscription = ?", one.Seq, one.Subscription)
	}
	// A handler that runs settles its row, and one on its way needs none.
	waits, err := c.Int64("SELECT EXISTS (SELECT 1 FROM busgen_deliveries WHERE subscription = ? AND seq = ? AND state <> 'running')", one.Subscription, one.Seq)
	if err == nil && waits != 0 {
		var row ledger.Row
		if row, err = tables.ReadRow(c, one.RowKey); err == nil {
			row = row.Restore(now)
			err = tables.Store(c, one.RowKey, &row, now, sinceOf(&row))
		}
	}
	if err != nil {
		return err
	}
	return tables.ForgetCancelled(c, one.RowKey)
}

// sinceOf returns when an open delivery began anew, for store.
func sinceOf(r *ledger.Row) any {
	if r.State.Open() {
		return r.Since
	}
	return nil
}

// readDiscarded returns the row of a delivery that was discarded.
func readDiscarded(c *database.Conn, at tables.RowKey) (r ledger.Row, err error) {
	err = c.Query(`
		SELECT x.reason, x.at, x.dead_at, x.dead_reason, x.fingerprint, coalesce(x.failures, 0), x.progress, coalesce(x.redriven, 0), coalesce(x.replayed, 0),
		       coalesce(x.uncounted, max(0, x.tries - coalesce(x.failures, 0))), coalesce(x.suspect, x.last = '`+event.KindCrash+`', 0), x.tries, x.run, x.undoing
		FROM (SELECT *, (SELECT count(*) FROM busgen_attempts a WHERE a.seq = d.seq AND a.subscription = d.subscription) AS tries, `+lastKind+` AS last
		      FROM busgen_discarded d WHERE d.seq = ? AND d.subscription = ?) x`, func(s *sqlite3.Stmt) error {
		r = ledger.Row{
			Delivery: ledger.Delivery{Failures: s.ColumnInt(5), Progress: s.ColumnText(6), Replayed: s.ColumnBool(8), Together: s.ColumnInt(10), Run: s.ColumnInt(12), Undoing: s.ColumnBool(13)},
			State:    ledger.Discarded, Tries: s.ColumnInt(11), Redriven: s.ColumnInt(7), Reason: s.ColumnText(0), Ended: database.Time(s, 1),
		}
		if s.ColumnType(2) != sqlite3.NULL {
			r.Uncounted = s.ColumnInt(9)
			r.Was = &ledger.Death{Reason: s.ColumnText(3), Fingerprint: s.ColumnText(4), At: database.Time(s, 2)}
			return nil
		}
		r.Retried = s.ColumnType(3) != sqlite3.NULL
		return nil
	}, at.Seq, at.Subscription)
	return r, err
}

// EditDeadLetter implements [engine.DeadLetterEditor].
func (i *Inspection) EditDeadLetter(ctx context.Context, key event.Key, id uuid.UUID, payload []byte) error {
	return i.change(ctx, "edit a dead letter of", func(c *database.Conn) error {
		old, err := findDeadLetter(c, key)
		if err != nil {
			return err
		}
		seq, err := appendFor(c, specialEvent{
			id: id, Key: typenames.Key{Name: old.Type, Version: old.Version}, payload: payload, metadata: old.Metadata, createdAt: time.Now(),
			subscription: old.Subscription, parent: key.EventID,
		})
		if err != nil {
			return err
		}
		at, now := tables.RowKey{Subscription: old.Subscription, Seq: old.Seq}, time.Now()
		row, err := tables.ReadRow(c, at)
		if err != nil {
			return err
		}
		edited, made := row.Edit(id.String(), now)
		if err := tables.Store(c, tables.RowKey{Subscription: old.Subscription, Seq: seq}, &made, now, nil); err != nil {
			return err
		}
		if err := tables.Discard(c, at, edited.Reason); err != nil {
			return err
		}
		return tables.Audit(c, event.AuditEntry{
			Actor: i.actor, Action: "edit", EventID: key.EventID, Subscription: key.Subscription, Count: 1, Detail: edited.Reason,
		})
	})
}

// specialEvent is an event for one subscription.
type specialEvent struct {
	id uuid.UUID
	typenames.Key
	payload, metadata []byte
	createdAt         time.Time
	subscription      int64
	parent            uuid.UUID // the event it was made from; zero for one of another file
}

// appendFor writes an event for one subscription, without its delivery. It is
// written like one that is delayed, whose deliveries are the rows it has: so
// nobody finds it on the way.
func appendFor(c *database.Conn, e specialEvent) (seq int64, err error) {
	typeID, err := declareType(c, e.Key)
	if err != nil {
		return 0, err
	}
	err = c.Exec("INSERT INTO busgen_log (id, type, payload, metadata, created_at, due_at) VALUES (?, ?, ?, ?, ?, ?)",
		e.id[:], typeID, string(e.payload), tables.Text(string(e.metadata)), e.createdAt, time.Now())
	if err != nil {
		return 0, err
	}
	seq = c.LastInsertRowID()
	return seq, c.Exec("INSERT INTO busgen_origins (seq, parent, subscription) VALUES (?, ?, ?)", seq, e.parent[:], e.subscription)
}

// Undo implements [engine.StepKeeper].
func (l *Log) Undo(ctx context.Context, u engine.Undoing) error {
	err := l.writer.doSynced(ctx, func(c *database.Conn) error { return undoSteps(c, u, time.Now()) })
	l.consumers.recheck()
	if errors.Is(err, engine.ErrOpen) {
		return err
	}
	return fault.Wrap("undo the steps of an event in", l.path, err)
}

// undoSteps is Undo of package ledger.
func undoSteps(c *database.Conn, u engine.Undoing, now time.Time) error {
	seq, to, err := findCancellable(c, u.Event, u.Subscription)
	if err != nil {
		return err
	}
	at := tables.RowKey{Subscription: to.ID, Seq: seq}
	if err := forgetSettled(c); err != nil {
		return err
	}
	row, err := settledRow(c, at)
	if err != nil || row.Undoing && row.State.Open() && !row.Cancelled {
		return err
	}
	undoable, err := c.Int64("SELECT count(*) FROM busgen_steps WHERE seq = ? AND subscription = ? AND run = ? AND undoes", seq, to.ID, row.Run)
	switch {
	case err != nil:
		return err
	case undoable == 0:
		return &event.NotFoundError{Thing: "step to undo in event", Name: event.Key{EventID: u.Event, Subscription: to.Name}.String()}
	case row.Cancelled: // whoever has it in memory sees that when the cancel is gone
		row = row.Discard(row.Reason, now)
	}
	undoing := row.Undo(now)
	if !undoing.Undoing || !undoing.State.Open() {
		return fmt.Errorf("the delivery is %w", engine.ErrOpen)
	}
	again := func() error { return tables.NoteHistory(c, at, now) }
	if row.State == ledger.Dead {
		again = func() error { return revive(c, at, true, now) }
	}
	if err := again(); err != nil {
		return err
	}
	if err := tables.Store(c, at, &undoing, now, undoing.Since); err != nil {
		return err
	}
	if err := c.Exec("DELETE FROM busgen_discarded WHERE seq = ? AND subscription = ?", seq, to.ID); err != nil {
		return err
	}
	if err := tables.ForgetCancelled(c, at); err != nil {
		return err
	}
	result, err := json.Marshal(u.Why)
	if err != nil {
		return err
	}
	why := engine.Step{Name: engine.UndoPrefix, Kind: engine.StepUndo, Result: result, Attempt: undoing.Number(), Started: now, At: now}
	if err := putStep(c, at, undoing.Run, &why); err != nil {
		return err
	}
	if err := tables.Audit(c, event.AuditEntry{Actor: u.Actor, Action: "undo", EventID: u.Event, Subscription: to.Name, Count: 1}); err != nil {
		return err
	}
	return touched(c, c.LastInsertRowID(), []tables.RowKey{at})
}

// settledRow reads all that is known of a delivery, which may be open, too.
func settledRow(c *database.Conn, at tables.RowKey) (r ledger.Row, err error) {
	found := func(sql string) (bool, error) {
		n, err := c.Int64("SELECT EXISTS ("+sql+")", at.Subscription, at.Seq)
		return n != 0, err
	}
	has, err := found("SELECT 1 FROM busgen_deliveries WHERE subscription = ? AND seq = ?")
	if has || err != nil {
		if r, err = tables.ReadRow(c, at); r.Cancelled { // a handler that runs settles it itself
			if runs, runsErr := found("SELECT 1 FROM busgen_deliveries WHERE subscription = ? AND seq = ? AND state = 'running'"); runs {
				r.Cancelled, err = false, runsErr
			}
		}
		return r, err
	}
	if has, err = found("SELECT 1 FROM busgen_discarded WHERE subscription = ? AND seq = ?"); has || err != nil {
		if err == nil {
			r, err = readDiscarded(c, at)
		}
		return r, err
	}
	err = c.Query(`
		SELECT l.due_at IS NOT NULL, (SELECT count(*) FROM busgen_attempts a WHERE a.seq = l.seq AND a.subscription = s.id),
		       coalesce((SELECT max(x.run) FROM busgen_steps x WHERE x.seq = l.seq AND x.subscription = s.id), 0), `+handled+`
		FROM busgen_log l JOIN busgen_subscriptions s ON s.id = ? WHERE l.seq = ?`, func(s *sqlite3.Stmt) error {
		if s.ColumnBool(3) {
			r = ledger.Row{State: ledger.Done}
		}
		r.Delayed, r.Tries, r.Run = s.ColumnBool(0), s.ColumnInt(1), s.ColumnInt(2)
		return nil
	}, at.Subscription, at.Seq)
	return r, err
}
