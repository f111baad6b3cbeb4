package sqlite

import (
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// An operator can discard a delivery that is open. Only the dispatcher knows what
// it has in its hands, so the operator's word is kept in the table cancelled, and
// the dispatcher settles the delivery when its turn comes, which is at once.

// Cancelled implements [engine.Consumer].
func (c *consumer) Cancelled(seq int64) (reason string, ok bool) {
	cancelled := c.cancelled.Load()
	if cancelled == nil {
		return "", false
	}
	reason, ok = (*cancelled)[seq]
	return reason, ok
}

// readCancelled takes in which open deliveries were discarded.
func (l *Log) readCancelled(conn *database.Conn) error {
	found := map[int64]map[int64]string{}
	err := conn.Query("SELECT subscription, seq, reason FROM cancelled", func(s *sqlite3.Stmt) error {
		id := s.ColumnInt64(0)
		if found[id] == nil {
			found[id] = map[int64]string{}
		}
		found[id][s.ColumnInt64(1)] = s.ColumnText(2)
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range l.all() {
		if own := found[c.id]; own != nil {
			c.cancelled.Store(&own)
		} else if c.cancelled.Load() != nil {
			c.cancelled.Store(nil)
		}
	}
	return nil
}

// cancelDelivery notes that an open delivery is discarded, and makes it due if it
// has a row, so that the dispatcher sees it.
func cancelDelivery(c *database.Conn, subscription, seq int64, reason string) error {
	err := c.Exec("INSERT OR REPLACE INTO cancelled (seq, subscription, reason, at) VALUES (?, ?, ?, ?)", seq, subscription, reason, time.Now())
	if err != nil {
		return err
	}
	return c.Exec("UPDATE deliveries SET state = 'waiting', due_at = ?3 WHERE seq = ?1 AND subscription = ?2 AND state IN ('waiting', 'held')",
		seq, subscription, atOnce)
}

// forgetCancelled removes what was done: the delivery is settled.
func forgetCancelled(c *database.Conn) error {
	return c.Exec(`
		DELETE FROM cancelled AS x
		WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = x.seq AND d.subscription = x.subscription AND d.state <> 'dead')
		  AND NOT EXISTS (SELECT 1 FROM log l JOIN subscriptions s ON s.id = x.subscription
		                  WHERE l.seq = x.seq AND ` + notPassed + `)`)
}
