package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// EventHistory is one event with everything that became of it.
type EventHistory struct {
	EventLine
	Parent     uuid.UUID   // the event it was made from by an operator; zero for none
	Children   []uuid.UUID // the events that were made from it
	Deliveries []DeliveryHistory
	Audit      []AuditEntry // oldest first
}

// DeliveryHistory is one event for one subscription.
type DeliveryHistory struct {
	Subscription string
	State        string    // pending, running, waiting, held, dead, discarded or done
	Due          time.Time // of a waiting one
	Settled      time.Time // of a dead or discarded one
	Reason       string    // of a dead or discarded one
	Failures     int       // since it was new or last retried
	Attempts     []engine.FailedAttempt
	Crashes      []CrashHistory // that do not count as attempts
}

// CrashHistory is an end of the process while the handler of a delivery ran and
// others too, so that it counts for none of them.
type CrashHistory struct {
	At     time.Time   // when it was noticed
	Beside []LetterKey // the other deliveries whose handlers ran
}

// Event returns one event; found is false if there is none with the id.
func (a *Admin) Event(ctx context.Context, id uuid.UUID) (event EventHistory, found bool, err error) {
	err = a.look(ctx, "read an event of", func(c *conn) error {
		err := c.query(selectEvent+" WHERE l.id = ?", func(s *sqlite3.Stmt) error {
			event.EventLine, found = eventLine(s), true
			return nil
		}, id[:])
		if !found || err != nil {
			return err
		}
		return readHistory(c, &event)
	})
	return event, found, err
}

func readHistory(c *conn, e *EventHistory) (err error) {
	if e.Deliveries, err = readDeliveries(c, e.Seq); err != nil {
		return err
	}
	err = c.query("SELECT parent FROM origins WHERE seq = ?", func(s *sqlite3.Stmt) error {
		e.Parent = uuidOf(s, 0)
		return nil
	}, e.Seq)
	if err != nil {
		return err
	}
	err = c.query("SELECT l.id FROM origins o JOIN log l ON l.seq = o.seq WHERE o.parent = ? ORDER BY o.seq", func(s *sqlite3.Stmt) error {
		e.Children = append(e.Children, uuidOf(s, 0))
		return nil
	}, e.ID[:])
	if err != nil {
		return err
	}
	e.Audit, err = auditOf(c, e.ID, e.Seq, 0)
	return err
}

// statePending is that of a delivery on its way, which has no row.
const statePending = "pending"

// readDeliveries lists the subscriptions that an event is for: those of its
// type that are not younger, or the one it was made for. One that has a row is
// concerned whatever its pattern is by now.
func readDeliveries(c *conn, seq int64) (deliveries []DeliveryHistory, err error) {
	var ids []int64
	err = c.query(`
		SELECT s.id, s.name, d.due_at, d.dead_at, d.reason, d.failures, coalesce(x.at, k.at), coalesce(x.reason, k.reason),
		       CASE WHEN k.seq IS NOT NULL AND d.state IN ('waiting', 'held') THEN 'discarded'
		            WHEN d.state IS NOT NULL THEN d.state
		            WHEN x.seq IS NOT NULL THEN 'discarded'
		            WHEN l.due_at IS NULL AND s.cursor < l.seq THEN iif(k.seq IS NULL, 'pending', 'discarded')
		            ELSE 'done' END
		FROM log l JOIN subscriptions s
		LEFT JOIN deliveries d ON d.subscription = s.id AND d.seq = l.seq
		LEFT JOIN discarded x ON x.subscription = s.id AND x.seq = l.seq
		LEFT JOIN cancelled k ON k.subscription = s.id AND k.seq = l.seq -- discarded, and not yet settled
		LEFT JOIN origins o ON o.seq = l.seq
		WHERE l.seq = ?
		  AND (d.seq IS NOT NULL OR x.seq IS NOT NULL
		       OR iif(o.seq IS NOT NULL, o.subscription = s.id,
		              s.start < l.seq AND EXISTS (SELECT 1 FROM routes r WHERE r.type = l.type AND r.subscription = s.id)))
		ORDER BY s.name`, func(s *sqlite3.Stmt) error {
		ids = append(ids, s.ColumnInt64(0))
		one := DeliveryHistory{Subscription: s.ColumnText(1), State: s.ColumnText(8), Failures: s.ColumnInt(5)}
		switch one.State {
		case rowWaiting:
			one.Due = timeOf(s, 2)
		case rowDead:
			one.Settled, one.Reason = timeOf(s, 3), s.ColumnText(4)
		case engine.StateDiscarded:
			one.Settled, one.Reason = timeOf(s, 6), s.ColumnText(7)
		}
		deliveries = append(deliveries, one)
		return nil
	}, seq)
	for i := range deliveries {
		if err == nil {
			deliveries[i].Attempts, err = readAttempts(c, seq, ids[i])
		}
		if err == nil {
			deliveries[i].Crashes, err = readCrashes(c, seq, ids[i])
		}
	}
	return deliveries, err
}

// readCrashes returns the ends of the process that do not count for a delivery,
// oldest first.
func readCrashes(c *conn, seq, subscription int64) (crashes []CrashHistory, err error) {
	err = c.query("SELECT at FROM crashes WHERE seq = ? AND subscription = ? AND NOT counted ORDER BY at", func(s *sqlite3.Stmt) error {
		crashes = append(crashes, CrashHistory{At: timeOf(s, 0)})
		return nil
	}, seq, subscription)
	for i := range crashes {
		if err != nil {
			break
		}
		err = c.query(`
			SELECT l.id, s.name FROM crashes o JOIN log l ON l.seq = o.seq JOIN subscriptions s ON s.id = o.subscription
			WHERE o.at = ?3 AND (o.seq, o.subscription) <> (?1, ?2) ORDER BY s.name, o.seq`, func(s *sqlite3.Stmt) error {
			crashes[i].Beside = append(crashes[i].Beside, LetterKey{Event: uuidOf(s, 0), Subscription: s.ColumnText(1)})
			return nil
		}, seq, subscription, crashes[i].At)
	}
	return crashes, err
}

func readAttempts(c *conn, seq, subscription int64) (attempts []engine.FailedAttempt, err error) {
	err = c.query(`
		SELECT kind, started_at, ended_at, error, error_type, member, stack FROM attempts
		WHERE seq = ? AND subscription = ? ORDER BY n`, func(s *sqlite3.Stmt) error {
		a := engine.FailedAttempt{
			Kind: s.ColumnText(0), Ended: timeOf(s, 2), Error: s.ColumnText(3), ErrorType: s.ColumnText(4),
			Member: s.ColumnText(5), Stack: s.ColumnText(6),
		}
		if s.ColumnType(1) != sqlite3.NULL {
			a.Started = timeOf(s, 1)
		}
		attempts = append(attempts, a)
		return nil
	}, seq, subscription)
	return attempts, err
}
