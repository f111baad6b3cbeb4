package sqlite

import (
	"context"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// tryNow ends the waits of deliveries for their retries, in the order of subscriptions and of the log, each once: one that
// fails again meanwhile waits again. It implements [engine.Sweep].
type tryNow struct {
	inTurns
	filter deadFilter
	last   tables.RowKey
	action action
}

// waitsToBeTried is the SQL condition on delivery d that package ledger calls so; its parameter is the time.
const waitsToBeTried = `d.state <> 'dead' AND d.state = 'waiting' AND d.wait > 0 AND NOT d.suspended AND d.due_at > ?
	AND NOT EXISTS (SELECT 1 FROM busgen_cancelled x WHERE x.seq = d.seq AND x.subscription = d.subscription)`

func (i *Inspection) tryNow(ctx context.Context, spec engine.SweepSpec, entry event.AuditEntry) (sweep engine.Sweep, matched int, err error) {
	if f := spec.Filter; len(f.Events) == 1 {
		entry.EventID = f.Events[0]
	}
	t := &tryNow{inTurns: inTurns{Inspection: i}, filter: deadFilter{Filter: spec.Filter}, action: action{AuditEntry: entry}}
	err = i.look(ctx, "count the retries of", func(c *database.Conn) error {
		w, err := t.filter.condition(c)
		if err != nil {
			return err
		}
		return c.Query("SELECT count(*) FROM busgen_deliveries d INDEXED BY busgen_deliveries_open WHERE "+waitsToBeTried+w.sql.String(), func(s *sqlite3.Stmt) error {
			matched = s.ColumnInt(0)
			return nil
		}, append([]any{time.Now()}, w.args...)...)
	})
	return t, matched, err
}

// Step implements [engine.Sweep]. What has crashed waits for no time.
func (t *tryNow) Step(ctx context.Context, limit int, _ bool) (changed []event.Key, err error) {
	var places []tables.RowKey
	err = t.change(ctx, "try the retries now of", func(c *database.Conn) error {
		now := time.Now()
		if changed, places, err = t.next(c, limit, now); err != nil {
			return err
		}
		for _, at := range places {
			row, err := tables.ReadRow(c, at)
			if err == nil {
				row = row.TryNow(now)
				err = tables.Store(c, at, &row, now, nil)
			}
			if err != nil {
				return err
			}
		}
		if err := t.action.add(c, len(places)); err != nil {
			return err
		}
		return t.action.touch(c, places)
	})
	if err != nil || len(changed) == 0 {
		return nil, err
	}
	t.last = places[len(places)-1]
	t.action.committed()
	return changed, nil
}

// next returns the deliveries whose waits end next, and their places.
func (t *tryNow) next(c *database.Conn, limit int, now time.Time) (keys []event.Key, places []tables.RowKey, err error) {
	w, err := t.filter.condition(c)
	if err != nil {
		return nil, nil, err
	}
	w.and("(d.subscription, d.seq) > (?, ?)", t.last.Subscription, t.last.Seq)
	err = c.Query(`
		SELECT l.id, s.name, d.subscription, d.seq
		FROM (SELECT d.subscription, d.seq FROM busgen_deliveries d WHERE `+waitsToBeTried+w.sql.String()+`
		      ORDER BY d.subscription, d.seq LIMIT ?) d
		CROSS JOIN busgen_log l ON l.seq = d.seq
		CROSS JOIN busgen_subscriptions s ON s.id = d.subscription
		ORDER BY d.subscription, d.seq`, func(s *sqlite3.Stmt) error {
		keys = append(keys, event.Key{EventID: database.UUID(s, 0), Subscription: s.ColumnText(1)})
		places = append(places, tables.RowKey{Subscription: s.ColumnInt64(2), Seq: s.ColumnInt64(3)})
		return nil
	}, append(append([]any{now}, w.args...), limit)...)
	return keys, places, err
}
