package sqlite

import (
	"context"
	"math"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// Pending implements [engine.Log].
func (ob *observer) Pending(ctx context.Context, limit int) (most int, err error) {
	err = ob.read(func(c *database.Conn) error {
		type position struct{ id, cursor int64 }
		var all []position
		err := c.Query("SELECT id, cursor FROM busgen_subscriptions", func(s *sqlite3.Stmt) error {
			all = append(all, position{s.ColumnInt64(0), s.ColumnInt64(1)})
			return nil
		})
		for _, one := range all {
			if err != nil {
				return err
			}
			var rows int64
			rows, err = c.Int64(`
				SELECT count(*) FROM (SELECT 1 FROM busgen_deliveries INDEXED BY busgen_deliveries_open
				WHERE subscription = ? AND state <> 'dead' LIMIT ?)`, one.id, limit)
			if err != nil {
				return err
			}
			behind, err := window{one.cursor, math.MaxInt64}.count(c, one.id, limit)
			if err != nil {
				return err
			}
			most = max(most, int(rows)+behind)
		}
		return err
	})
	return min(most, limit), fault.Wrap("read", ob.path, err)
}

// AwaitSettled implements [engine.Log].
func (ob *observer) AwaitSettled(ctx context.Context) error {
	one := ob.waiters.add(0)
	defer ob.waiters.remove(one)
	ob.lookout.watchOthers()
	ob.writer.hasten()
	select {
	case <-one.news:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-ob.writer.done:
		return engine.ErrClosed
	}
}
