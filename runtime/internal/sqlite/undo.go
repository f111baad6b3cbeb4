package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

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
	at := rowKey{to.id, seq}
	if err := forgetSettled(c); err != nil {
		return err
	}
	row, err := settledRow(c, at)
	if err != nil || row.Undoing && row.State.Open() && !row.Cancelled {
		return err
	}
	undoable, err := c.Int64("SELECT count(*) FROM busgen_steps WHERE seq = ? AND subscription = ? AND run = ? AND undoes", seq, to.id, row.Run)
	switch {
	case err != nil:
		return err
	case undoable == 0:
		return &event.NotFoundError{Thing: "step to undo in event", Name: event.Key{EventID: u.Event, Subscription: to.name}.String()}
	case row.Cancelled: // whoever has it in memory sees that when the cancel is gone
		row = row.Discard(row.Reason, now)
	}
	undoing := row.Undo(now)
	if !undoing.Undoing || !undoing.State.Open() {
		return fmt.Errorf("the delivery is %w", engine.ErrOpen)
	}
	again := func() error { return noteHistory(c, at, now) }
	if row.State == ledger.Dead {
		again = func() error { return revive(c, at, true, now) }
	}
	if err := again(); err != nil {
		return err
	}
	if err := store(c, at, &undoing, now, undoing.Since); err != nil {
		return err
	}
	if err := c.Exec("DELETE FROM busgen_discarded WHERE seq = ? AND subscription = ?", seq, to.id); err != nil {
		return err
	}
	if err := forgetCancelled(c, at); err != nil {
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
	if err := audit(c, event.AuditEntry{Actor: u.Actor, Action: "undo", EventID: u.Event, Subscription: to.name, Count: 1}); err != nil {
		return err
	}
	return touched(c, c.LastInsertRowID(), []rowKey{at})
}

// settledRow reads all that is known of a delivery, which may be open, too.
func settledRow(c *database.Conn, at rowKey) (r ledger.Row, err error) {
	found := func(sql string) (bool, error) {
		n, err := c.Int64("SELECT EXISTS ("+sql+")", at.subscription, at.seq)
		return n != 0, err
	}
	has, err := found("SELECT 1 FROM busgen_deliveries WHERE subscription = ? AND seq = ?")
	if has || err != nil {
		if r, err = readRow(c, at); r.Cancelled { // a handler that runs settles it itself
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
	}, at.subscription, at.seq)
	return r, err
}
