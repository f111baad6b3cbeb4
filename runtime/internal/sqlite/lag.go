package sqlite

import (
	"context"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Lags implements [engine.Log].
func (l *Log) Lags(_ context.Context, limit int) (lags []engine.Lag, err error) {
	err = l.read(func(c *conn) (err error) {
		lags, err = readLags(c, limit, l.nameOf)
		return err
	})
	return lags, storageError("read", l.path, err)
}

// readLags calls subscriptions what nameOf makes of their names.
func readLags(c *conn, limit int, nameOf func(id int64, stored string) string) (lags []engine.Lag, err error) {
	var ids, cursors []int64
	err = c.query(`
		SELECT s.id, s.cursor, s.name, s.pattern, EXISTS (SELECT 1 FROM pauses p WHERE p.kind = 'subscription' AND p.target = s.name)
		FROM subscriptions s ORDER BY s.id`, func(s *sqlite3.Stmt) error {
		ids, cursors = append(ids, s.ColumnInt64(0)), append(cursors, s.ColumnInt64(1))
		lags = append(lags, engine.Lag{Name: nameOf(s.ColumnInt64(0), s.ColumnText(2)), Pattern: s.ColumnText(3), Paused: s.ColumnBool(4)})
		return nil
	})
	for i := range lags {
		if err == nil {
			err = readLag(c, &lags[i], ids[i], cursors[i], limit)
		}
	}
	return lags, err
}

// readLag counts for one subscription.
func readLag(c *conn, lag *engine.Lag, id, cursor int64, limit int) error {
	err := c.query("SELECT state, count(*) FROM deliveries WHERE subscription = ? GROUP BY state", func(s *sqlite3.Stmt) error {
		n := s.ColumnInt(1)
		switch s.ColumnText(0) {
		case rowRunning:
			lag.Running = n
		case rowWaiting:
			lag.Waiting = n
		case rowHeld:
			lag.Held = n
		case rowDead:
			lag.Dead = n
		}
		return nil
	}, id)
	if err != nil {
		return err
	}
	rows := lag.Running + lag.Waiting + lag.Held
	behind, err := c.int64(countBehind, cursor, id, max(0, limit-rows))
	if err != nil {
		return err
	}
	lag.Backlog = min(rows+int(behind), limit)
	return c.query(`
		SELECT min(created_at) FROM (
		  SELECT created_at FROM (SELECT l.created_at FROM log l
		    WHERE l.seq > ?1 AND l.due_at IS NULL AND l.type IN (SELECT type FROM routes WHERE subscription = ?2)
		      AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subscription = ?2 AND d.seq = l.seq)
		    ORDER BY l.seq LIMIT 1)
		  UNION ALL
		  SELECT created_at FROM (SELECT l.created_at FROM deliveries d JOIN log l ON l.seq = d.seq
		    WHERE d.subscription = ?2 AND d.state <> 'dead' ORDER BY d.seq LIMIT 1))`, func(s *sqlite3.Stmt) error {
		if s.ColumnType(0) != sqlite3.NULL {
			lag.Oldest = timeOf(s, 0)
		}
		return nil
	}, cursor, id)
}

// countBehind counts the events above a cursor that have no row, up to a limit.
const countBehind = `
	SELECT count(*) FROM (
	  SELECT 1 FROM log l
	  WHERE l.seq > ?1 AND l.due_at IS NULL AND l.type IN (SELECT type FROM routes WHERE subscription = ?2)
	    AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subscription = ?2 AND d.seq = l.seq)
	  ORDER BY l.seq LIMIT ?3)`
