package sqlite

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// replay gives events to a subscription again. It implements [engine.Sweep].
type replay struct {
	inTurns
	subscription int64
	name         string
	chosen       engine.Filter
	filter       eventArgs
	last         int64 // the events up to here have had their turn
	end          int64 // the events up to here were handled when it began
	action       action
}

// handled is the SQL condition that subscription s has handled event l: its cursor has
// passed the event, and nothing says that it was otherwise.
const handled = `
	l.seq > s.start AND l.seq <= s.cursor
	AND l.type IN (SELECT type FROM busgen_routes WHERE subscription = s.id)
	AND NOT EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.subscription = s.id AND d.seq = l.seq)
	AND NOT EXISTS (SELECT 1 FROM busgen_discarded x WHERE x.subscription = s.id AND x.seq = l.seq)
	AND NOT EXISTS (SELECT 1 FROM busgen_origins o WHERE o.seq = l.seq AND o.subscription <> s.id)`

// replayable are the events between two positions that a subscription ?1 has handled and
// a filter chooses.
func replayable(seen bool) string {
	return `
	FROM busgen_log l JOIN busgen_subscriptions s ON s.id = ?1
	WHERE l.seq > ?2 AND l.seq <= ?3 AND ` + handled + `
	  AND l.type IN (SELECT value FROM json_each(?4))
	  AND l.created_at >= ?5 AND l.created_at < ?6
	  AND (?7 IS NULL OR ` + tables.Containing("?7", seen) + `)
	  AND (?8 IS NULL OR ` + correlationIs("?8", seen) + `)
	  AND (?9 IS NULL OR l.id IN (SELECT unhex(value) FROM json_each(?9)))`
}

// replayWindow is how many positions of the log a replay reads at once.
const replayWindow = 4096

// replay begins to give events again. What the cursor passes from now on is not part of it.
// What has a row now, and is handled before a step comes to it, is: a list of such rows
// would grow with the backlog.
func (i *Inspection) replay(ctx context.Context, spec engine.SweepSpec, entry event.AuditEntry) (sweep engine.Sweep, matched int, err error) {
	if len(spec.Filter.Events) == 1 {
		entry.EventID = spec.Filter.Events[0]
	}
	r := &replay{inTurns: inTurns{Inspection: i}, chosen: spec.Filter, action: action{AuditEntry: entry}}
	err = i.look(ctx, "read", func(c *database.Conn) error {
		found, err := requireSubscription(c, spec.Subscription)
		if err != nil {
			return err
		}
		r.subscription, r.name, r.action.Subscription = found.ID, found.Name, found.Name
		if r.filter, err = eventArgsOf(c, spec.Filter); err != nil {
			return err
		}
		r.last = r.filter.first - 1
		if spec.From != uuid.Nil {
			from, err := c.Int64("SELECT seq FROM busgen_log WHERE id = ?", spec.From[:])
			if err == nil && from == 0 {
				err = &event.NotFoundError{Thing: "event", Name: spec.From.String()}
			}
			if err != nil {
				return err
			}
			r.last = max(r.last, from-1)
		}
		r.end, err = c.Int64("SELECT cursor FROM busgen_subscriptions WHERE id = ?", r.subscription)
		if err != nil || r.filter.ids == nil {
			return err
		}
		return c.Query("SELECT min(seq), max(seq) FROM busgen_log WHERE id IN (SELECT unhex(value) FROM json_each(?))", func(s *sqlite3.Stmt) error {
			r.last, r.end = max(r.last, s.ColumnInt64(0)-1), min(r.end, s.ColumnInt64(1))
			return nil
		}, r.filter.ids)
	})
	for at := r.last; err == nil && at < r.end; {
		at, err = r.window(ctx, at, func(c *database.Conn, args []any) error {
			n, err := c.Int64("SELECT count(*)"+replayable(r.filter.seen)+r.filter.children, args...)
			matched += int(n)
			return err
		})
	}
	return r, matched, err
}

// window reads the next positions of the log, and returns the last of them. Nobody who
// writes waits for it, and nobody who reads for long.
func (r *replay) window(ctx context.Context, after int64, f func(c *database.Conn, args []any) error) (end int64, err error) {
	err = r.look(ctx, "read", func(c *database.Conn) error {
		first, err := c.Int64("SELECT coalesce(min(seq), ?2) FROM busgen_log WHERE seq > ?1", after, r.end)
		if err != nil {
			return err
		}
		if _, err := lookThrough(c, r.chosen); err != nil { // another search may have looked since
			return err
		}
		end = min(r.end, first-1+replayWindow)
		a := r.filter
		return f(c, []any{r.subscription, after, end, a.types, a.since, a.until, a.text, a.correlation, a.ids, a.parent})
	})
	return end, err
}

// Step implements [engine.Sweep]. Events that were handled did not crash. It looks for events before it begins to write, so that
// publishers wait only while rows are written.
func (r *replay) Step(ctx context.Context, limit int, _ bool) (replayed []event.Key, err error) {
	for r.last < r.end && len(replayed) == 0 {
		found, end, err := r.find(ctx, limit)
		if err == nil && len(found) > 0 {
			replayed, err = r.give(ctx, found)
		}
		if err != nil {
			return nil, err
		}
		r.last = end
	}
	return replayed, nil
}

// replayed is an event that is to be given again.
type replayed struct {
	seq int64
	id  uuid.UUID
}

// find returns events that match, and the position up to which there are no others.
func (r *replay) find(ctx context.Context, limit int) (found []replayed, end int64, err error) {
	end, err = r.window(ctx, r.last, func(c *database.Conn, args []any) error {
		return c.Query("SELECT l.id, l.seq"+replayable(r.filter.seen)+r.filter.children+" ORDER BY l.seq LIMIT ?11", func(s *sqlite3.Stmt) error {
			found = append(found, replayed{s.ColumnInt64(1), database.UUID(s, 0)})
			return nil
		}, append(args, limit)...)
	})
	if len(found) == limit {
		end = found[limit-1].seq
	}
	return found, end, err
}

// replayHandled is Replay of package ledger.
const replayHandled = `
	INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at, wait, since, replayed, uncounted, run)
	SELECT s.id, l.seq, 'waiting', 0, ?3, 0, ?3, 1, 1 + (SELECT count(*) FROM busgen_attempts a WHERE a.seq = l.seq AND a.subscription = s.id),
	       1 + coalesce((SELECT max(x.run) FROM busgen_steps x WHERE x.seq = l.seq AND x.subscription = s.id), 0)
	FROM busgen_log l JOIN busgen_subscriptions s ON s.id = ?1
	WHERE l.seq = ?2 AND l.id = ?4 AND ` + handled

// give makes those of the events due that are still handled, and returns them.
func (r *replay) give(ctx context.Context, found []replayed) (keys []event.Key, err error) {
	err = r.change(ctx, "replay events of", func(c *database.Conn) error {
		at := time.Now()
		var places []tables.RowKey
		for _, one := range found {
			place := tables.RowKey{Subscription: r.subscription, Seq: one.seq}
			if err := c.Exec(replayHandled, r.subscription, one.seq, at, one.id[:]); err != nil {
				return err
			}
			if c.Changes() == 0 {
				continue // another replay was faster, or it was pruned
			}
			if err := tables.ForgetCancelled(c, place); err != nil {
				return err
			}
			keys, places = append(keys, event.Key{EventID: one.id, Subscription: r.name}), append(places, place)
		}
		if len(places) == 0 {
			return nil
		}
		if err := r.action.add(c, len(places)); err != nil {
			return err
		}
		return r.action.touch(c, places)
	})
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	r.action.committed()
	return keys, nil
}

// Redrive implements [engine.Log]. It looks with the connection that reads, so
// that publishers wait only for what there is to write.
func (l *Log) Redrive(ctx context.Context, spec engine.RedriveSpec) (redriven int, err error) {
	due, err := valueOf(l.ground, func(c *database.Conn) ([]tables.RowKey, error) { return redrivable(c, spec) })
	if err == nil && len(due) > 0 {
		err = l.writer.doSynced(ctx, func(c *database.Conn) error {
			redriven, err = redrive(c, spec, due)
			return err
		})
	}
	if err != nil {
		return 0, fault.Wrap("redrive dead letters of", l.path, err)
	}
	if redriven > 0 {
		l.consumers.recheck()
	}
	return redriven, nil
}

// redrivable returns the letters that the spec chooses, oldest first. Those whose
// last attempt has ended the process are only chosen by the word for it.
func redrivable(c *database.Conn, spec engine.RedriveSpec) (due []tables.RowKey, err error) {
	reasons, err := json.Marshal(spec.Reasons)
	if err != nil {
		return nil, err
	}
	err = c.Query(`
		SELECT d.subscription, d.seq FROM busgen_deliveries d CROSS JOIN busgen_log l ON l.seq = d.seq
		WHERE d.state = 'dead' AND d.reason <> '`+event.ReasonUndone+`' AND d.dead_at <= ?2 AND d.subscription = `+tables.SubscriptionNamed+`
		  AND d.redriven < ?3 AND l.type IN (SELECT id FROM busgen_types WHERE name = (SELECT name FROM busgen_types WHERE written = ?4 LIMIT 1))
		  AND (?8 OR NOT `+diedOfCrash+`)
		  AND (?5 OR EXISTS (SELECT 1 FROM json_each(?6) r WHERE r.value IN (d.reason, `+lastKind+`)))
		ORDER BY d.dead_at, d.subscription, d.seq LIMIT ?7`, func(s *sqlite3.Stmt) error {
		due = append(due, tables.RowKey{Subscription: s.ColumnInt64(0), Seq: s.ColumnInt64(1)})
		return nil
	}, spec.Subscription, spec.DeadBefore, spec.Max, spec.Type, len(spec.Reasons) == 0, string(reasons), spec.Limit, slices.Contains(spec.Reasons, event.ReasonCrash))
	return due, err
}

// lastKind is the SQL expression for how the last attempt of delivery d has failed, NULL without one.
const lastKind = `(
	SELECT a.kind FROM busgen_attempts a WHERE a.seq = d.seq AND a.subscription = d.subscription ORDER BY a.n DESC LIMIT 1)`

// diedOfCrash is the SQL condition that the process ended in the last attempt of dead letter d. One that is still a
// suspect of a crash, but has failed otherwise since, or ran beside others then, is none.
const diedOfCrash = "(d.reason = '" + event.ReasonCrash + "' OR " + lastKind + " IS '" + event.KindCrash + "')"

// redrive revives those of the letters that are still dead.
func redrive(c *database.Conn, spec engine.RedriveSpec, due []tables.RowKey) (n int, err error) {
	for _, one := range due {
		dead, err := c.Int64("SELECT EXISTS (SELECT 1 FROM busgen_deliveries WHERE subscription = ? AND seq = ? AND state = 'dead')", one.Subscription, one.Seq)
		if err == nil && dead != 0 { // else what is said of it, a cancel say, holds
			err = revive(c, one, false, time.Now())
			n++
		}
		if err != nil {
			return 0, err
		}
	}
	if n == 0 {
		return 0, nil
	}
	return n, tables.Audit(c, event.AuditEntry{
		Actor: "busgen", Action: "redrive", Subscription: spec.Subscription, Count: n,
		Detail: "automatically, by the catalogue's redrive of " + spec.Type,
	})
}
