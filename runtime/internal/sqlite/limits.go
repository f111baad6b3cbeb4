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
func (u *upkeep) LeaseLimits(ctx context.Context, tick func(engine.LimitTime) engine.LimitTime, leases []engine.LimitLease) error {
	var moved []engine.LimitLease
	err := u.writer.do(ctx, func(c *database.Conn) error {
		moved = append(moved[:0], leases...) // the transaction may begin anew
		now, err := tickLimits(c, tick)
		for i := 0; i < len(moved) && err == nil; i++ {
			err = leaseLimit(c, now, &moved[i])
		}
		return err
	})
	if err != nil {
		return fault.Wrap("store what limits have used in", u.path, err)
	}
	copy(leases, moved)
	return nil
}

// limitTime returns the clock of the rates; zero if there is none yet.
func limitTime(c *database.Conn) (stored engine.LimitTime, err error) {
	err = c.Query("SELECT now, wall FROM busgen_limits_clock", func(s *sqlite3.Stmt) error {
		stored = engine.LimitTime{Now: time.Unix(0, s.ColumnInt64(0)), Wall: time.Unix(0, s.ColumnInt64(1))}
		return nil
	})
	return stored, err
}

func tickLimits(c *database.Conn, tick func(engine.LimitTime) engine.LimitTime) (now time.Time, err error) {
	stored, err := limitTime(c)
	if err != nil {
		return time.Time{}, err
	}
	next := tick(stored)
	return next.Now, c.Exec("INSERT OR REPLACE INTO busgen_limits_clock (one, now, wall) VALUES (1, ?, ?)", next.Now.UnixNano(), next.Wall.UnixNano())
}

// limitsForgotten is how many rows of buckets that are full again are deleted with each
// lease. It is more than one, so that their number does not grow.
const limitsForgotten = 4

func leaseLimit(c *database.Conn, now time.Time, lease *engine.LimitLease) error {
	var stored engine.LimitBucket
	err := c.Query("SELECT full_at, step, span, since FROM busgen_limits WHERE name = ? AND key = ?", func(s *sqlite3.Stmt) error {
		stored = engine.LimitBucket{Full: time.Unix(0, s.ColumnInt64(0)), LimitRate: engine.LimitRate{
			Step: time.Duration(s.ColumnInt64(1)), Span: time.Duration(s.ColumnInt64(2)), Since: time.Unix(0, s.ColumnInt64(3)),
		}}
		return nil
	}, lease.Limit, lease.Key)
	if err != nil {
		return err
	}
	stored = lease.Move(now, stored)
	err = c.Exec("INSERT OR REPLACE INTO busgen_limits (name, key, full_at, step, span, since) VALUES (?, ?, ?, ?, ?, ?)",
		lease.Limit, lease.Key, stored.Full.UnixNano(), int64(stored.Step), int64(stored.Span), stored.Since.UnixNano())
	if err != nil {
		return err
	}
	return forgetLimits(c, now, limitsForgotten)
}

// forgetLimits deletes up to so many rows of buckets that are full again.
func forgetLimits(c *database.Conn, now time.Time, most int) error {
	return c.Exec("DELETE FROM busgen_limits WHERE (name, key) IN (SELECT name, key FROM busgen_limits WHERE full_at <= ? ORDER BY full_at LIMIT ?)",
		now.UnixNano(), most)
}

// limitsIdle is how long ago the last lease is when the wall clock alone tells that buckets are full again. Before
// that it may have been set forward, and others still use what they have leased.
const limitsIdle = 24 * time.Hour

// sweepLimits deletes the rows of buckets that are full again, because leases delete few of
// them, and none when the last rate is gone from the catalogue.
func (u *upkeep) sweepLimits(ctx context.Context) error {
	for {
		var now time.Time
		var found int64
		err := u.read(func(c *database.Conn) error {
			stored, err := limitTime(c)
			if err != nil || stored.Now.IsZero() {
				return err
			}
			if now = stored.Now; u.clock.now().Sub(stored.Wall) > limitsIdle {
				now = now.Add(u.clock.now().Sub(stored.Wall))
			}
			found, err = c.Int64("SELECT EXISTS (SELECT 1 FROM busgen_limits WHERE full_at <= ?)", now.UnixNano())
			return err
		})
		if err != nil || found == 0 {
			return err
		}
		if err = u.writer.do(ctx, func(c *database.Conn) error { return forgetLimits(c, now, pruneDelete) }); err == nil {
			err = pause(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// ReturnLimits implements [engine.LimitKeeper].
func (u *upkeep) ReturnLimits(ctx context.Context, unused []engine.LimitLease) error {
	err := u.writer.do(ctx, func(c *database.Conn) error {
		for _, u := range unused {
			err := c.Exec("UPDATE busgen_limits SET full_at = ? WHERE name = ? AND key = ? AND full_at = ?", u.Full.UnixNano(), u.Limit, u.Key, u.Until.UnixNano())
			if err != nil {
				return err
			}
		}
		return nil
	})
	return fault.Wrap("store what limits have used in", u.path, err)
}
