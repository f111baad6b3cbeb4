package sqlite

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// DeclareSchedules implements [engine.Timetable]. If nothing has changed it writes nothing.
func (l *Log) DeclareSchedules(ctx context.Context, specs []engine.ScheduleSpec, now time.Time) (all []event.Schedule, err error) {
	stored, err := valueOf(l.ground, readSchedules)
	if err == nil && len(specs) == 0 && len(stored) == 0 {
		return nil, nil
	}
	if err == nil {
		err = l.writer.doSynced(ctx, func(c *database.Conn) error {
			if !l.owns.Load() {
				return engine.ErrNotOwner
			}
			if err := storeSchedules(c, specs, now); err != nil {
				return err
			}
			stored, err = readSchedules(c)
			return err
		})
	}
	if err != nil {
		return nil, fault.Wrap("store schedules in", l.path, err)
	}
	for _, spec := range specs {
		i := slices.IndexFunc(stored, func(s event.Schedule) bool { return s.Name == spec.Name })
		all = append(all, stored[i])
	}
	return all, nil
}

func storeSchedules(c *database.Conn, specs []engine.ScheduleSpec, now time.Time) error {
	names := make([]string, len(specs))
	for i, spec := range specs {
		names[i] = spec.Name
		err := c.Exec(`
			INSERT INTO busgen_schedules (name, type, rule, since, passed) VALUES (?1, ?2, ?3, ?4, ?4)
			ON CONFLICT (name) DO UPDATE SET type = excluded.type, rule = excluded.rule
			WHERE type <> excluded.type OR rule <> excluded.rule`, spec.Name, spec.Type, string(spec.Rule), now)
		if err != nil {
			return err
		}
	}
	kept, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return c.Exec("DELETE FROM busgen_schedules WHERE name NOT IN (SELECT value FROM json_each(?))", string(kept))
}

func readSchedules(c *database.Conn) (all []event.Schedule, err error) {
	err = c.Query("SELECT name, type, rule, since, passed, event, at FROM busgen_schedules ORDER BY name", func(s *sqlite3.Stmt) error {
		one := event.Schedule{
			Name: s.ColumnText(0), Type: s.ColumnText(1), Rule: json.RawMessage(s.ColumnText(2)),
			Since: database.Time(s, 3), Passed: database.Time(s, 4),
		}
		if s.ColumnType(5) != sqlite3.NULL {
			one.Event, one.At = database.UUID(s, 5), database.Time(s, 6)
		}
		all = append(all, one)
		return nil
	})
	return all, err
}

// Pass implements [engine.Timetable].
func (l *Log) Pass(ctx context.Context, p engine.Passage) (passed bool, err error) {
	var events []logged
	err = l.writer.doSynced(ctx, func(c *database.Conn) error {
		passed = false // the transaction may begin anew
		if !l.owns.Load() {
			return engine.ErrNotOwner
		}
		err := c.Exec("UPDATE busgen_schedules SET passed = ? WHERE name = ? AND passed = ?", p.To, p.Name, p.From)
		if err != nil || c.Changes() == 0 {
			return err
		}
		if n := len(p.Records); n > 0 {
			if err := c.Exec("UPDATE busgen_schedules SET event = ?, at = ? WHERE name = ?", p.Records[n-1].ID[:], p.At, p.Name); err != nil {
				return err
			}
			// Numbered here: the log may be another one than when Pass was called.
			events = l.types.number(nil, p.Records)
			if err := l.writer.batch.insert(events); err != nil {
				return err
			}
		}
		passed = true
		return nil
	})
	if err != nil {
		return false, fault.Wrap("publish the events of a schedule in", l.path, err)
	}
	for i := range events {
		if passed {
			p.Records[i].Seq = events[i].Seq
		}
	}
	return passed, nil
}
