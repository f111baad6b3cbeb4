package sqlite

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// DiscardEvent implements [engine.EventDiscarder].
func (i *Inspection) DiscardEvent(ctx context.Context, id uuid.UUID, subscription, reason string) (discarded []string, err error) {
	err = i.changeAll(ctx, "discard an event of", subscription, func(c *database.Conn, only knownSubscription) error {
		discarded = nil
		seq, err := c.Int64("SELECT coalesce(max(seq), 0) FROM busgen_log WHERE id = ?", id[:])
		if err == nil && seq == 0 {
			err = &engine.NotFoundError{Thing: "event", Name: id.String()}
		}
		if err != nil {
			return err
		}
		if err := forgetSettled(c); err != nil {
			return err
		}
		all, err := readDeliveries(c, seq)
		settled := &engine.NotOpenError{Event: id}
		for _, d := range all {
			if err != nil {
				return err
			}
			switch {
			case only.id != 0 && d.subscription != only.id:
			case d.open():
				discarded = append(discarded, d.Subscription)
				if err = cancelDelivery(c, rowKey{d.subscription, seq}, reason, false); err == nil {
					err = audit(c, engine.AuditEntry{
						Actor: i.actor, Action: "discard", EventID: id, Subscription: d.Subscription, Count: 1, Detail: reason,
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
	case engine.StatePending, engine.StateRunning, engine.StateWaiting, engine.StateHeld:
		return true
	}
	return false
}

// Undiscard implements [engine.EventDiscarder].
func (i *Inspection) Undiscard(ctx context.Context, u engine.Undo) (undone engine.Undone, err error) {
	err = i.changeAll(ctx, "undo a discard in", u.Subscription, func(c *database.Conn, only knownSubscription) error {
		undone = engine.Undone{}
		entry := engine.AuditEntry{Actor: i.actor, Action: "undiscard", EventID: u.Event, Subscription: only.name}
		if u.Action != 0 {
			entry.Detail = "action " + strconv.FormatInt(u.Action, 10)
		}
		if err := forgetSettled(c); err != nil {
			return err
		}
		found, err := chosenDiscards(c, u, only.id)
		if err != nil {
			return err
		}
		var places []rowKey
		for _, one := range found {
			if !one.passed || strings.HasPrefix(one.reason, editedInto) || one.reason == engine.ReasonErased {
				undone.Left++
				continue
			}
			if err := restoreDiscarded(c, one); err != nil {
				return err
			}
			places = append(places, one.rowKey)
			if one.dead {
				undone.Dead++
			} else {
				undone.Due++
			}
		}
		if entry.Count = len(places); entry.Count == 0 {
			return nil
		}
		if err := audit(c, entry); err != nil {
			return err
		}
		return touched(c, c.LastInsertRowID(), places)
	})
	return undone, err
}

// discardedRow is a delivery that was discarded.
type discardedRow struct {
	rowKey
	reason             string
	dead, open, passed bool // it was dead; it is not yet settled; the cursor has passed it
}

// chosenDiscards returns the discards of one subscription, or of all for 0.
func chosenDiscards(c *database.Conn, u engine.Undo, subscription int64) (found []discardedRow, err error) {
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
			rowKey: rowKey{s.ColumnInt64(0), s.ColumnInt64(1)},
			reason: s.ColumnText(2), dead: s.ColumnBool(3), open: s.ColumnBool(4), passed: s.ColumnBool(5),
		})
		return nil
	}, u.Action, u.Event[:], subscription)
	return found, err
}

// restoreDiscarded makes a delivery what it was, a dead letter, or due, with a fresh count of attempts.
func restoreDiscarded(c *database.Conn, one discardedRow) error {
	if one.open {
		if err := forgetCancelled(c, one.rowKey); err != nil {
			return err
		}
		return c.Exec(`
			UPDATE busgen_deliveries SET state = 'waiting', uncounted = uncounted + failures, failures = 0, max_attempts = NULL,
				crashed = 0, due_at = ?3, since = ?3, wait = 0, snoozes = 0
			WHERE subscription = ?1 AND seq = ?2 AND state IN ('waiting', 'held')`, one.subscription, one.seq, time.Now())
	}
	err := c.Exec(`
		INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at, dead_at, reason, fingerprint, since, progress, redriven, uncounted, suspect, wait, replayed)
		SELECT subscription, seq, iif(dead_at IS NULL, 'waiting', 'dead'), iif(dead_at IS NULL, 0, coalesce(failures, 0)),
		       iif(dead_at IS NULL, ?3, NULL), dead_at, dead_reason, fingerprint, iif(dead_at IS NULL, ?3, NULL), progress, coalesce(redriven, 0),
		       iif(dead_at IS NULL, coalesce(failures, 0), coalesce(uncounted, max(0, (SELECT count(*) FROM busgen_attempts a WHERE a.seq = ?1 AND a.subscription = ?2) - coalesce(failures, 0)))),
		       coalesce(suspect, (SELECT a.kind = '`+engine.KindCrash+`' FROM busgen_attempts a WHERE a.seq = ?1 AND a.subscription = ?2 ORDER BY a.n DESC LIMIT 1), 0),
		       iif(dead_at IS NULL, 0, NULL), coalesce(replayed, 0)
		FROM busgen_discarded WHERE seq = ?1 AND subscription = ?2`, one.seq, one.subscription, time.Now())
	if err != nil {
		return err
	}
	return c.Exec("DELETE FROM busgen_discarded WHERE seq = ? AND subscription = ?", one.seq, one.subscription)
}
