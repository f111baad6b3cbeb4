package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// replay gives events to a subscription again. It implements [engine.Sweep].
type replay struct {
	*Inspection
	matched      int
	subscription int64
	name         string
	filter       eventArgs
	last         int64 // the events up to here have had their turn
	end          int64 // the events up to here were handled when it began
	ledger       ledger
}

// replayable are the events that a subscription ?1 has handled: its cursor has
// passed them, and nothing says that it was otherwise.
const replayable = `
	FROM log l JOIN subscriptions s ON s.id = ?1
	WHERE l.seq > ?2 AND l.seq <= ?3 AND l.seq > s.start
	  AND l.type IN (SELECT type FROM routes WHERE subscription = ?1)
	  AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subscription = ?1 AND d.seq = l.seq)
	  AND NOT EXISTS (SELECT 1 FROM discarded x WHERE x.subscription = ?1 AND x.seq = l.seq)
	  AND NOT EXISTS (SELECT 1 FROM origins o WHERE o.seq = l.seq AND o.subscription <> ?1)
	  AND l.type IN (SELECT value FROM json_each(?4))
	  AND l.created_at >= ?5 AND l.created_at < ?6
	  AND (?7 IS NULL OR instr(l.payload, ?7) > 0 OR instr(l.metadata, ?7) > 0)
	  AND (?8 IS NULL OR ` + correlationID + ` = ?8)
	  AND (?9 IS NULL OR l.id IN (SELECT unhex(value) FROM json_each(?9)))`

// replay begins to give events again. What is handled from now on is not part of it.
func (i *Inspection) replay(ctx context.Context, spec engine.SweepSpec, entry engine.AuditEntry) (engine.Sweep, error) {
	if len(spec.Filter.Events) == 1 {
		entry.EventID = spec.Filter.Events[0]
	}
	r := &replay{Inspection: i, ledger: ledger{AuditEntry: entry}}
	return r, i.look(ctx, "read", func(c *database.Conn) error {
		found, err := requireSubscription(c, spec.Subscription)
		if err != nil {
			return err
		}
		r.subscription, r.name, r.ledger.Subscription = found.id, found.name, found.name
		if r.filter, err = eventArgsOf(c, spec.Filter); err != nil {
			return err
		}
		r.last = r.filter.first - 1
		if spec.From != uuid.Nil {
			from, err := c.Int64("SELECT seq FROM log WHERE id = ?", spec.From[:])
			if err == nil && from == 0 {
				err = &engine.NotFoundError{Thing: "event", Name: spec.From.String()}
			}
			if err != nil {
				return err
			}
			r.last = max(r.last, from-1)
		}
		if r.end, err = c.Int64("SELECT cursor FROM subscriptions WHERE id = ?", r.subscription); err != nil {
			return err
		}
		matched, err := c.Int64("SELECT count(*)"+replayable+r.filter.children, r.args()...)
		r.matched = int(matched)
		return err
	})
}

func (r *replay) args() []any {
	f := r.filter
	return []any{r.subscription, r.last, r.end, f.types, f.since, f.until, f.text, f.correlation, f.ids, f.parent}
}

// Matched implements [engine.Sweep].
func (r *replay) Matched() int { return r.matched }

// SpareCrashes implements [engine.Sweep]. Events that were handled did not crash.
func (r *replay) SpareCrashes(bool) {}

// Step implements [engine.Sweep].
func (r *replay) Step(ctx context.Context, limit int) (replayed []engine.Key, err error) {
	last := r.last
	err = r.change(ctx, "replay events of", func(c *database.Conn) error {
		var places []rowKey
		err := c.Query("SELECT l.id, l.seq"+replayable+r.filter.children+" ORDER BY l.seq LIMIT ?11", func(s *sqlite3.Stmt) error {
			last = s.ColumnInt64(1)
			replayed = append(replayed, engine.Key{EventID: database.UUID(s, 0), Subscription: r.name})
			places = append(places, rowKey{r.subscription, last})
			return nil
		}, append(r.args(), limit)...)
		if err != nil {
			return err
		}
		at := time.Now()
		for _, p := range places {
			if err := forgetCancelled(c, p); err != nil {
				return err
			}
			err := c.Exec(`
				INSERT INTO deliveries (subscription, seq, state, failures, due_at, wait, since, replayed, uncounted) VALUES (?1, ?2, 'waiting', 0, ?3, 0, ?3, 1,
					1 + (SELECT count(*) FROM attempts a WHERE a.seq = ?2 AND a.subscription = ?1))`, p.subscription, p.seq, at)
			if err != nil {
				return err
			}
		}
		if err := r.ledger.add(c, len(places)); err != nil {
			return err
		}
		return r.ledger.touch(c, places)
	})
	if err != nil || len(replayed) == 0 {
		return nil, err
	}
	r.last = last
	r.ledger.committed()
	return replayed, nil
}
