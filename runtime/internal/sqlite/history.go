package sqlite

import (
	"time"

	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// What has become of deliveries that had failed is kept in the table outcomes,
// for the view events. The others leave no trace: a success costs no write of
// its own.

// noteHandled keeps when a delivery was handled that had failed before.
func noteHandled(c *database.Conn, subscription, seq int64) error {
	return c.Exec(`
		INSERT INTO busgen_outcomes (seq, subscription, history, at)
		SELECT ?1, ?2, 0, ?3 WHERE EXISTS (SELECT 1 FROM busgen_attempts WHERE seq = ?1 AND subscription = ?2)
		ON CONFLICT DO UPDATE SET at = excluded.at`, seq, subscription, time.Now())
}

// noteRedriven makes the attempts of a dead delivery history: they stay on
// record, and no longer count.
func noteRedriven(c *database.Conn, subscription, seq int64, now time.Time) error {
	return c.Exec(`
		INSERT INTO busgen_outcomes (seq, subscription, history, at)
		SELECT seq, subscription, (SELECT count(*) FROM busgen_attempts a WHERE a.seq = d.seq AND a.subscription = d.subscription), ?3
		FROM busgen_deliveries d WHERE d.state = 'dead' AND d.subscription = ?2 AND d.seq = ?1
		ON CONFLICT DO UPDATE SET history = excluded.history, at = excluded.at`, seq, subscription, now)
}

// failuresOf is the retry_count of the view events, for an event l of the log:
// the most failed attempts that a subscription has made since its last redrive.
const failuresOf = `
	coalesce((SELECT max(n) FROM (
	  SELECT count(*) AS n FROM busgen_attempts a LEFT JOIN busgen_outcomes o ON o.seq = a.seq AND o.subscription = a.subscription
	  WHERE a.seq = l.seq AND a.n > coalesce(o.history, 0) GROUP BY a.subscription)), 0)`
