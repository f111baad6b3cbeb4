package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// Sweep implements [engine.Sweeper].
func (i *Inspection) Sweep(ctx context.Context, spec engine.SweepSpec) (sweep engine.Sweep, matched int, err error) {
	entry := event.AuditEntry{Actor: i.actor, Action: string(spec.Kind), Subscription: spec.Subscription, Detail: spec.Detail}
	if spec.Kind == engine.SweepReplay {
		return i.replay(ctx, spec, entry)
	}
	if spec.Kind == engine.SweepTryNow {
		return i.tryNow(ctx, spec, entry)
	}
	if keys := spec.Filter.Keys; len(keys) == 1 {
		entry.EventID, entry.Subscription = keys[0].EventID, keys[0].Subscription
	}
	s := &deadSweep{
		inTurns: inTurns{Inspection: i}, kind: spec.Kind, reason: spec.Reason, again: spec.Again, action: action{AuditEntry: entry},
		filter: deadFilter{Filter: spec.Filter, step: spec.Again.Step()},
	}
	err = i.look(ctx, "count the dead letters of", func(c *database.Conn) error {
		matched, s.filter.Until, err = countDeadLetters(c, s.filter) // what dies later does not match
		return err
	})
	return s, matched, err
}

// deadSweep is a change to dead letters. It implements [engine.Sweep].
type deadSweep struct {
	inTurns
	kind   engine.SweepKind
	reason string       // of a discard
	again  engine.Again // of a retry
	filter deadFilter
	last   []any // when the last one died that was changed, and its place; nil before the first step
	action action
}

// Step implements [engine.Sweep].
func (s *deadSweep) Step(ctx context.Context, limit int, spareCrashes bool) (changed []event.Key, err error) {
	if s.filter.harmless != spareCrashes {
		s.filter.harmless, s.last = spareCrashes, nil
	}
	var last []any
	err = s.change(ctx, string(s.kind)+" dead letters of", func(c *database.Conn) error {
		var places []tables.RowKey
		if changed, places, last, err = s.next(c, limit); err != nil {
			return err
		}
		for _, p := range places {
			if err := s.apply(c, p); err != nil {
				return err
			}
		}
		if err := s.action.add(c, len(places)); err != nil {
			return err
		}
		return s.action.touch(c, places)
	})
	if err != nil || len(changed) == 0 {
		return nil, err
	}
	s.last = last
	s.action.committed()
	return changed, nil
}

// next returns the dead letters that are changed next, their places, and from where
// the step after this one goes on.
func (s *deadSweep) next(c *database.Conn, limit int) (keys []event.Key, places []tables.RowKey, last []any, err error) {
	w, err := s.filter.condition(c)
	if err != nil {
		return nil, nil, nil, err
	}
	if s.last != nil {
		w.and("(d.dead_at, d.subscription, d.seq) > (?, ?, ?)", s.last...)
	}
	err = c.Query(`
		SELECT l.id, s.name, d.subscription, d.seq, d.dead_at
		FROM (SELECT dead_at, subscription, seq FROM busgen_deliveries d WHERE d.state = 'dead'`+w.sql.String()+`
		      ORDER BY d.dead_at, d.subscription, d.seq LIMIT ?) d
		CROSS JOIN busgen_log l ON l.seq = d.seq
		CROSS JOIN busgen_subscriptions s ON s.id = d.subscription
		ORDER BY d.dead_at, d.subscription, d.seq`, func(s *sqlite3.Stmt) error {
		at := tables.RowKey{Subscription: s.ColumnInt64(2), Seq: s.ColumnInt64(3)}
		keys, places = append(keys, event.Key{EventID: database.UUID(s, 0), Subscription: s.ColumnText(1)}), append(places, at)
		last = []any{s.ColumnInt64(4), at.Subscription, at.Seq}
		return nil
	}, append(w.args, limit)...)
	return keys, places, last, err
}

func (s *deadSweep) apply(c *database.Conn, at tables.RowKey) error {
	switch s.kind {
	case engine.SweepRetry:
		return errors.Join(forgetSteps(c, at, s.again), revive(c, at, true, time.Now()))
	case engine.SweepDiscard:
		return tables.Discard(c, at, s.reason)
	default: // SweepPurge
		return forget(c, at)
	}
}

// forgetSteps has steps of a dead delivery done again. With all of them the next run begins: see Restart of package ledger.
func forgetSteps(c *database.Conn, at tables.RowKey, again engine.Again) error {
	const ofRun = " WHERE seq = ?1 AND subscription = ?2 AND run = (SELECT run FROM busgen_deliveries WHERE seq = ?1 AND subscription = ?2)"
	switch {
	case again.Start:
		return c.Exec("UPDATE busgen_deliveries SET run = run + 1, undoing = 0, progress = NULL WHERE seq = ? AND subscription = ?", at.Seq, at.Subscription)
	case again.From != "":
		return c.Exec("DELETE FROM busgen_steps"+ofRun+" AND at >= (SELECT min(at) FROM busgen_steps"+ofRun+" AND name = ?3)", at.Seq, at.Subscription, again.From)
	case again.Forget != "":
		return c.Exec("DELETE FROM busgen_steps"+ofRun+" AND name = ?3", at.Seq, at.Subscription, again.Forget)
	}
	return nil
}

// revive makes a dead delivery due now, with a fresh count of attempts; those
// it has behind it stay on record. One whose last attempt has ended with the
// process still runs alone. By hand, the count of automatic redrives begins
// again as well; else this is one of them. The reason stays, and says that it was dead: see
// exempt. The caller has seen in this transaction that it is dead.
func revive(c *database.Conn, at tables.RowKey, byHand bool, now time.Time) error {
	if err := tables.NoteHistory(c, at, now); err != nil {
		return err
	}
	if err := tables.ForgetCancelled(c, at); err != nil {
		return err
	}
	return c.Exec(`
		UPDATE busgen_deliveries SET state = 'waiting', uncounted = uncounted + failures, failures = 0, max_attempts = NULL,
			crashed = 0, due_at = ?1, dead_at = NULL,
			fingerprint = NULL, since = ?1, redriven = iif(?4, 0, redriven + 1), wait = 0, snoozes = 0, suspended = 0
		WHERE state = 'dead' AND subscription = ?2 AND seq = ?3`, now, at.Subscription, at.Seq, byHand)
}

// forget deletes a dead delivery and its attempts.
func forget(c *database.Conn, at tables.RowKey) error {
	for _, kept := range []string{
		"DELETE FROM busgen_attempts WHERE seq = ? AND subscription = ?", "DELETE FROM busgen_outcomes WHERE seq = ? AND subscription = ?",
		"DELETE FROM busgen_crashes WHERE seq = ? AND subscription = ?", "DELETE FROM busgen_steps WHERE seq = ? AND subscription = ?",
	} {
		if err := c.Exec(kept, at.Seq, at.Subscription); err != nil {
			return err
		}
	}
	return c.Exec("DELETE FROM busgen_deliveries WHERE subscription = ? AND seq = ?", at.Subscription, at.Seq)
}

// Redelivered implements [engine.DeadLetterReader].
func (i *Inspection) Redelivered(ctx context.Context, keys []event.Key) (all []engine.Redelivery, err error) {
	err = i.look(ctx, "read the deliveries of", func(c *database.Conn) error {
		for _, k := range keys {
			one := engine.RedeliverySettled
			err := c.Query(`
				SELECT d.state FROM busgen_deliveries d
				WHERE d.subscription = `+tables.SubscriptionNamed+` AND d.seq = (SELECT seq FROM busgen_log WHERE id = ?2)`,
				func(s *sqlite3.Stmt) error {
					if one = engine.RedeliveryOpen; s.ColumnText(0) == tables.RowDead {
						one = engine.RedeliveryDead
					}
					return nil
				}, k.Subscription, k.EventID[:])
			if err != nil {
				return err
			}
			all = append(all, one)
		}
		return nil
	})
	return all, err
}

const (
	// restFactor is by how much longer than a transaction others are let in after it: they have more
	// than nine tenths of the time, on a slow disk too.
	restFactor = 12
	// leastRest and longestRest bound that.
	leastRest, longestRest = 10 * time.Millisecond, time.Second / 4
)

// rest returns for how long others are let in after a transaction that took so long.
func rest(took time.Duration) time.Duration {
	return min(max(restFactor*took, leastRest), longestRest)
}

// inTurns changes much, in many transactions, and lets those who publish in between them. It is used by one goroutine.
type inTurns struct {
	*Inspection
	others time.Time // until then it is their turn
}

// change is that of the Inspection, when it is its turn. The context, and Close, end the waiting.
func (t *inTurns) change(ctx context.Context, op string, f func(c *database.Conn) error) error {
	turn := time.NewTimer(time.Until(t.others))
	defer turn.Stop()
	select {
	case <-turn.C:
	case <-t.closing.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	var began time.Time // when it had the lock
	err := t.Inspection.change(ctx, op, func(c *database.Conn) error {
		began = time.Now()
		return f(c)
	})
	if now := time.Now(); !began.IsZero() {
		t.others = now.Add(rest(now.Sub(began)))
	}
	return err
}
