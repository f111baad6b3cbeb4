package sqlite

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// Status implements [engine.StatusReader].
func (i *Inspection) Status(ctx context.Context, limit int, since event.Status) (status event.Status, err error) {
	err = i.look(ctx, "read", func(c *database.Conn) error {
		status = event.Status{At: time.Now().UTC(), Path: i.Path}
		schema, err := c.Int64("PRAGMA user_version")
		if err != nil {
			return err
		}
		status.Schema = int(schema)
		if err := countTypes(c, &status, limit); err != nil {
			return err
		}
		if status.Snoozed, err = readSnoozed(c); err != nil {
			return err
		}
		lags, err := readLags(c, limit, tables.StoredName, notFar)
		if err != nil {
			return err
		}
		pauses, err := readPauses(c)
		if err != nil {
			return err
		}
		activity, owner, err := currentActivity(c)
		if err != nil {
			return err
		}
		if owner.PID != 0 {
			status.Owner = &owner
			left, process := claims.Left(c.Path + file.ClaimsSuffix)
			status.CrashLoop = process.Age == claims.Looping || !owner.Alive && claims.DiedYoung(left, process.Age)
			if owner.Alive {
				status.Unwritable = faultOf(process.Fault)
			}
		}
		if status.Unwritable == "" && file.Full(c.Path, tryBytes) {
			status.Unwritable = event.DiskFull
		}
		status.Subscriptions, status.Pauses = lags, pauseStates(pauses)
		status.Breakers, status.Running = append([]event.Breaker{}, activity.Breakers...), append([]event.Running{}, activity.Attempts...)
		if status.Waitlists, err = readWaitlists(c); err != nil {
			return err
		}
		for n := range status.Subscriptions {
			one := &status.Subscriptions[n]
			one.Unhandled = one.BacklogAtMost > 0 && slices.Contains(activity.Unhandled, one.Name)
			one.Saturated = one.BacklogAtMost > 0 && slices.Contains(activity.Saturated, one.Name)
			status.DeadLetters += one.Dead
		}
		now, err := readMark(c, lags)
		if err != nil {
			return err
		}
		status.Mark = now
		if before, ok := since.Mark.(mark); ok {
			if err := now.rates(c, before, &status); err != nil {
				return err
			}
		}
		if status.Size, err = file.Size(c.Path); err == nil {
			status.WAL, err = file.Size(c.Path + file.WALSuffix)
		}
		return err
	})
	if err != nil {
		return event.Status{}, err
	}
	return status, nil
}

// Subscriptions implements [engine.StatusReader].
func (i *Inspection) Subscriptions(ctx context.Context, limit int) (all []event.SubscriptionState, err error) {
	err = i.look(ctx, "read", func(c *database.Conn) (err error) {
		all, err = readLags(c, limit, tables.StoredName, notFar)
		return err
	})
	return all, err
}

func pauseStates(pauses []engine.Pause) []event.PauseState {
	all := make([]event.PauseState, len(pauses))
	for i, p := range pauses {
		all[i] = event.PauseState{Since: p.Since, Actor: p.Actor, Reason: p.Reason}
		if p.Kind == engine.PauseSubscription {
			all[i].Subscription, all[i].Key = p.Target, p.Key
		} else {
			all[i].Types = p.Target
		}
	}
	return all
}

// Declared implements [engine.StatusReader].
func (i *Inspection) Declared(ctx context.Context) (all engine.Declared, err error) {
	err = i.look(ctx, "read", func(c *database.Conn) error {
		all.Subscriptions, err = texts(c, `
			SELECT name FROM (
			  SELECT id, name, 0 AS former FROM busgen_subscriptions
			  UNION ALL SELECT subscription, name, 1 FROM busgen_former_names)
			ORDER BY former, id, name`)
		if err != nil {
			return err
		}
		all.Types, err = texts(c, `
			SELECT name FROM (
			  SELECT min(id) AS id, name, 0 AS former FROM busgen_types GROUP BY name
			  UNION ALL SELECT min(id), written, 1 FROM busgen_types WHERE written NOT IN (SELECT name FROM busgen_types) GROUP BY written)
			ORDER BY former, id`)
		if err == nil {
			all.Schedules, err = readSchedules(c)
		}
		return err
	})
	return all, err
}

// countTypes counts the newest events, here and not in SQL, which would sort them
// by their types and take three times as long.
func countTypes(c *database.Conn, status *event.Status, limit int) error {
	status.Types = []event.TypeCount{}
	names, counts := map[int64]string{}, map[string]*event.TypeCount{}
	routed := map[string]bool{}
	err := c.Query("SELECT id, name, EXISTS (SELECT 1 FROM busgen_routes r WHERE r.type = t.id) FROM busgen_types t", func(s *sqlite3.Stmt) error {
		name := s.ColumnText(1)
		names[s.ColumnInt64(0)] = name
		routed[name] = routed[name] || s.ColumnBool(2)
		return nil
	})
	if err != nil {
		return err
	}
	err = c.Query("SELECT type, created_at FROM busgen_log ORDER BY seq DESC LIMIT ?", func(s *sqlite3.Stmt) error {
		if status.Events == limit {
			status.More = true
			return nil
		}
		name, at := names[s.ColumnInt64(0)], database.Time(s, 1)
		one := counts[name]
		if one == nil {
			one = &event.TypeCount{Name: name, Unrouted: !routed[name] && !engine.IsOwn(name), Oldest: at, Newest: at}
			counts[name] = one
		}
		one.Events++
		status.Events++
		if at.Before(one.Oldest) {
			one.Oldest = at
		}
		if at.After(one.Newest) {
			one.Newest = at
		}
		note(status, at)
		return nil
	}, limit+1)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		status.Types = append(status.Types, *counts[name])
	}
	return c.Query("SELECT created_at FROM busgen_log ORDER BY seq LIMIT 1", func(s *sqlite3.Stmt) error {
		note(status, database.Time(s, 0))
		return nil
	})
}

// note widens the span of all events by one.
func note(s *event.Status, at time.Time) {
	if s.Oldest.IsZero() || at.Before(s.Oldest) {
		s.Oldest = at
	}
	if at.After(s.Newest) {
		s.Newest = at
	}
}

// Deliveries are shown as put off too often from so many snoozes on, or from one on
// when they are that old.
const (
	manySnoozes  = 100
	longSnoozed  = 24 * time.Hour
	snoozedShown = 10
	// snoozedRead is how many of those with a few snoozes are looked at.
	snoozedRead = 10_000
)

// readSnoozed returns what was put off too often, the most often first.
func readSnoozed(c *database.Conn) (found []event.Snoozed, err error) {
	err = c.Query(`
		SELECT l.id, t.name, s.name, d.snoozes, coalesce(d.since, l.due_at, l.created_at) AS began
		FROM (SELECT subscription, seq, snoozes, since, state FROM busgen_deliveries INDEXED BY busgen_deliveries_snoozed
		      WHERE snoozes > 0 ORDER BY snoozes DESC LIMIT ?1) d
		JOIN busgen_log l ON l.seq = d.seq JOIN busgen_types t ON t.id = l.type JOIN busgen_subscriptions s ON s.id = d.subscription
		WHERE d.state <> 'dead' AND (d.snoozes >= ?2 OR began <= ?3)
		ORDER BY d.snoozes DESC, d.seq LIMIT ?4`, func(s *sqlite3.Stmt) error {
		found = append(found, event.Snoozed{
			Event: database.UUID(s, 0), Type: s.ColumnText(1), Subscription: s.ColumnText(2), Snoozes: s.ColumnInt(3), Since: database.Time(s, 4),
		})
		return nil
	}, snoozedRead, manySnoozes, time.Now().Add(-longSnoozed), snoozedShown)
	return found, err
}

// readOwner returns the process that took the log over last, or a zero Owner.
func readOwner(c *database.Conn) (owner event.Owner, err error) {
	err = c.Query("SELECT pid, since FROM busgen_owner", func(s *sqlite3.Stmt) error {
		owner = event.Owner{PID: s.ColumnInt(0), Since: database.Time(s, 1)}
		return nil
	})
	return owner, err
}
