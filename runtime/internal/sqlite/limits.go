package sqlite

import (
	"context"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// LeaseLimits implements [engine.LimitKeeper]. The commit is not synced: what is lost with
// the power is a part of a rate.
func (l *Log) LeaseLimits(ctx context.Context, leases []engine.LimitLease) error {
	var moved []engine.LimitLease
	err := l.writer.do(ctx, func(c *database.Conn) error {
		moved = append(moved[:0], leases...) // the transaction may begin anew
		for i := range moved {
			if err := leaseLimit(c, &moved[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fault.Wrap("store what limits have used in", l.path, err)
	}
	copy(leases, moved)
	return nil
}

// limitsForgotten is how many rows of buckets that are full again are deleted with each
// lease. It is more than one, so that their number does not grow.
const limitsForgotten = 4

func leaseLimit(c *database.Conn, lease *engine.LimitLease) error {
	var stored time.Time
	err := c.Query("SELECT full_at FROM limits WHERE name = ? AND key = ?", func(s *sqlite3.Stmt) error {
		stored = time.Unix(0, s.ColumnInt64(0))
		return nil
	}, lease.Limit, lease.Key)
	if err != nil {
		return err
	}
	lease.Move(stored)
	err = c.Exec("INSERT INTO limits (name, key, full_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET full_at = excluded.full_at",
		lease.Limit, lease.Key, lease.Until.UnixNano())
	if err != nil {
		return err
	}
	return c.Exec("DELETE FROM limits WHERE (name, key) IN (SELECT name, key FROM limits WHERE full_at <= ? ORDER BY full_at LIMIT ?)",
		lease.Now.UnixNano(), limitsForgotten)
}

// ReturnLimits implements [engine.LimitKeeper].
func (l *Log) ReturnLimits(ctx context.Context, unused []engine.LimitLease) error {
	err := l.writer.do(ctx, func(c *database.Conn) error {
		for _, u := range unused {
			err := c.Exec("UPDATE limits SET full_at = ? WHERE name = ? AND key = ? AND full_at = ?", u.Full.UnixNano(), u.Limit, u.Key, u.Until.UnixNano())
			if err != nil {
				return err
			}
		}
		return nil
	})
	return fault.Wrap("store what limits have used in", l.path, err)
}
