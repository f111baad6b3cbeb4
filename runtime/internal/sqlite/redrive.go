package sqlite

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// Redrive implements [engine.Log]. It looks with the connection that reads, so
// that publishers wait only for what there is to write.
func (l *Log) Redrive(ctx context.Context, spec engine.RedriveSpec) (redriven int, err error) {
	var due []rowKey
	err = l.read(func(c *database.Conn) error {
		due, err = redrivable(c, spec)
		return err
	})
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
func redrivable(c *database.Conn, spec engine.RedriveSpec) (due []rowKey, err error) {
	reasons, err := json.Marshal(spec.Reasons)
	if err != nil {
		return nil, err
	}
	err = c.Query(`
		SELECT d.subscription, d.seq FROM busgen_deliveries d CROSS JOIN busgen_log l ON l.seq = d.seq
		WHERE d.state = 'dead' AND d.dead_at <= ?2 AND d.subscription = `+subscriptionNamed+`
		  AND d.redriven < ?3 AND l.type IN (SELECT id FROM busgen_types WHERE name = (SELECT name FROM busgen_types WHERE written = ?4 LIMIT 1))
		  AND (?8 OR NOT `+diedOfCrash+`)
		  AND (?5 OR EXISTS (SELECT 1 FROM json_each(?6) r WHERE r.value IN (d.reason, `+lastKind+`)))
		ORDER BY d.dead_at, d.subscription, d.seq LIMIT ?7`, func(s *sqlite3.Stmt) error {
		due = append(due, rowKey{subscription: s.ColumnInt64(0), seq: s.ColumnInt64(1)})
		return nil
	}, spec.Subscription, spec.DeadBefore, spec.Max, spec.Type, len(spec.Reasons) == 0, string(reasons), spec.Limit, slices.Contains(spec.Reasons, engine.ReasonCrash))
	return due, err
}

// lastKind is the SQL expression for how the last attempt of delivery d has failed, NULL without one.
const lastKind = `(
	SELECT a.kind FROM busgen_attempts a WHERE a.seq = d.seq AND a.subscription = d.subscription ORDER BY a.n DESC LIMIT 1)`

// diedOfCrash is the SQL condition that the process ended in the last attempt of dead letter d. One that is still a
// suspect of a crash, but has failed otherwise since, or ran beside others then, is none.
const diedOfCrash = "(d.reason = '" + engine.ReasonCrash + "' OR " + lastKind + " IS '" + engine.KindCrash + "')"

// redrive revives those of the letters that are still dead.
func redrive(c *database.Conn, spec engine.RedriveSpec, due []rowKey) (n int, err error) {
	for _, one := range due {
		dead, err := c.Int64("SELECT EXISTS (SELECT 1 FROM busgen_deliveries WHERE subscription = ? AND seq = ? AND state = 'dead')", one.subscription, one.seq)
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
	return n, audit(c, engine.AuditEntry{
		Actor: "busgen", Action: "redrive", Subscription: spec.Subscription, Count: n,
		Detail: "automatically, by the catalogue's redrive of " + spec.Type,
	})
}
