package sqlite

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Discard discards the open deliveries of an event, to one subscription or, for an
// empty name, to all. It returns those; found is false if there is no such event.
func (a *Admin) Discard(ctx context.Context, id uuid.UUID, subscription, reason, actor string) (discarded, others []DeliveryHistory, found bool, err error) {
	err = a.change(ctx, "discard an event of", func(c *conn) error {
		if err := forgetCancelled(c); err != nil {
			return err
		}
		seq, all, err := deliveriesOf(c, id)
		if err != nil || seq == 0 {
			return err
		}
		found = true
		known, err := knownConsumer(c, subscription)
		if err != nil {
			return err
		}
		for _, d := range all {
			if subscription != "" && d.id != known.id {
				continue
			}
			if !d.open() {
				others = append(others, d.DeliveryHistory)
				continue
			}
			if err := cancelDelivery(c, d.id, seq, reason); err != nil {
				return err
			}
			discarded = append(discarded, d.DeliveryHistory)
			entry := AuditEntry{Actor: actor, Action: "discard", Event: id, Subscription: d.Subscription, Count: 1, Detail: reason}
			if err := audit(c, entry); err != nil {
				return err
			}
		}
		return nil
	})
	return discarded, others, found, err
}

// adminDelivery is a delivery with the number of its subscription.
type adminDelivery struct {
	DeliveryHistory
	id int64
}

func (d adminDelivery) open() bool {
	switch d.State {
	case statePending, rowRunning, rowWaiting, rowHeld:
		return true
	}
	return false
}

// deliveriesOf returns the place of an event, 0 if there is none, and its
// deliveries.
func deliveriesOf(c *conn, id uuid.UUID) (seq int64, all []adminDelivery, err error) {
	if seq, err = c.int64("SELECT coalesce(max(seq), 0) FROM log WHERE id = ?", id[:]); err != nil || seq == 0 {
		return 0, nil, err
	}
	histories, err := readDeliveries(c, seq)
	for _, h := range histories {
		if err == nil {
			one := adminDelivery{DeliveryHistory: h}
			one.id, err = c.int64("SELECT id FROM subscriptions WHERE name = ?", h.Subscription)
			all = append(all, one)
		}
	}
	return seq, all, err
}

// Discards chooses deliveries that were discarded: those of an event, to one
// subscription if it is named, or those that one action has discarded.
type Discards struct {
	Event        uuid.UUID
	Subscription string
	Action       int64 // the id of an audit entry
}

// Undiscarded says what became of a delivery whose discard was undone.
type Undiscarded struct {
	LetterKey
	Dead bool // it is a dead letter again; else it is due
}

// Undiscard undoes discards. Left are those that it cannot: they were edited into
// another event, or the cursor has not yet passed them.
func (a *Admin) Undiscard(ctx context.Context, d Discards, actor string) (undone []Undiscarded, left []LetterKey, err error) {
	err = a.change(ctx, "undo a discard in", func(c *conn) error {
		entry := AuditEntry{Actor: actor, Action: "undiscard", Event: d.Event, Subscription: d.Subscription}
		if d.Action != 0 {
			entry.Detail = "action " + strconv.FormatInt(d.Action, 10)
		}
		found, err := chosenDiscards(c, d)
		if err != nil {
			return err
		}
		var places []LetterMark
		for _, one := range found {
			if !one.passed || strings.HasPrefix(one.reason, editedInto) {
				left = append(left, one.LetterKey)
				continue
			}
			if err := restoreDiscarded(c, one); err != nil {
				return err
			}
			places = append(places, LetterMark{Subscription: one.subscription, Seq: one.seq})
			undone = append(undone, Undiscarded{one.LetterKey, one.dead})
		}
		if entry.Count = len(undone); entry.Count == 0 {
			return nil
		}
		if err := audit(c, entry); err != nil {
			return err
		}
		return touched(c, c.LastInsertRowID(), places)
	})
	return undone, left, err
}

// editedInto begins the reason of a letter that was edited.
const editedInto = "edited into "

// discardedRow is a delivery that was discarded.
type discardedRow struct {
	LetterKey
	seq, subscription  int64
	reason             string
	dead, open, passed bool // it was dead; it is not yet settled; the cursor has passed it
}

func chosenDiscards(c *conn, d Discards) (found []discardedRow, err error) {
	known, err := knownConsumer(c, d.Subscription)
	if err != nil {
		return nil, err
	}
	err = c.query(`
		SELECT l.id, s.name, x.seq, x.subscription, x.reason, x.dead_at IS NOT NULL, x.open,
		       x.open OR l.due_at IS NOT NULL OR s.cursor >= l.seq
		FROM (SELECT seq, subscription, reason, dead_at, 0 AS open FROM discarded
		      UNION ALL SELECT seq, subscription, reason, NULL, 1 FROM cancelled) x
		JOIN log l ON l.seq = x.seq JOIN subscriptions s ON s.id = x.subscription
		WHERE (?1 = 0 OR (x.seq, x.subscription) IN (SELECT seq, subscription FROM audit_deliveries WHERE audit = ?1))
		  AND (?1 <> 0 OR l.id = ?2) AND (?3 = 0 OR x.subscription = ?3)
		  AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = x.seq AND d.subscription = x.subscription AND NOT x.open)
		ORDER BY x.seq, x.subscription`, func(s *sqlite3.Stmt) error {
		found = append(found, discardedRow{
			LetterKey: LetterKey{Event: uuidOf(s, 0), Subscription: s.ColumnText(1)}, seq: s.ColumnInt64(2), subscription: s.ColumnInt64(3),
			reason: s.ColumnText(4), dead: s.ColumnBool(5), open: s.ColumnBool(6), passed: s.ColumnBool(7),
		})
		return nil
	}, d.Action, d.Event[:], known.id)
	return found, err
}

// restoreDiscarded makes a delivery what it was: a dead letter, or due.
func restoreDiscarded(c *conn, one discardedRow) error {
	if one.open {
		return c.exec("DELETE FROM cancelled WHERE seq = ? AND subscription = ?", one.seq, one.subscription)
	}
	err := c.exec(`
		INSERT INTO deliveries (subscription, seq, state, failures, due_at, dead_at, reason, fingerprint, since, progress, redriven, uncounted, suspect, wait)
		SELECT subscription, seq, iif(dead_at IS NULL, 'waiting', 'dead'), iif(dead_at IS NULL, 0, coalesce(failures, 0)),
		       iif(dead_at IS NULL, ?3, NULL), dead_at, dead_reason, fingerprint, iif(dead_at IS NULL, ?3, NULL), progress, coalesce(redriven, 0),
		       iif(dead_at IS NULL, 1, max(0, (SELECT count(*) FROM attempts a WHERE a.seq = ?1 AND a.subscription = ?2) - coalesce(failures, 0))),
		       coalesce((SELECT a.kind = '`+engine.KindCrash+`' FROM attempts a WHERE a.seq = ?1 AND a.subscription = ?2 ORDER BY a.n DESC LIMIT 1), 0),
		       iif(dead_at IS NULL, 0, NULL)
		FROM discarded WHERE seq = ?1 AND subscription = ?2`, one.seq, one.subscription, time.Now())
	if err != nil {
		return err
	}
	return c.exec("DELETE FROM discarded WHERE seq = ? AND subscription = ?", one.seq, one.subscription)
}
