package sqlite

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// unhandledLooked is how many events of the log are looked at, from a cursor on and
// from the end of the log back, and how many rows of a subscription. Nothing tells where the events of a type are, so that
// a subscription for rare ones would make each look read the whole log.
const unhandledLooked = 10_000

// Unhandled implements [engine.Log].
func (ob *observer) Unhandled(_ context.Context, handled []engine.Consumer, after int64, relevant func(string) bool) (found engine.Unhandled, err error) {
	here := map[int64]bool{}
	for _, one := range handled {
		here[one.(*consumer).id] = true
	}
	err = ob.read(func(c *database.Conn) error {
		if found.Last, err = c.Int64("SELECT coalesce(max(seq), 0) FROM busgen_log"); err != nil {
			return err
		}
		if found.Consumers, err = unhandledConsumers(c, here, found.Last); err != nil {
			return err
		}
		found.Types, err = ob.unroutedTypes(c, max(after, found.Last-unhandledLooked), relevant)
		return err
	})
	return found, fault.Wrap("read", ob.path, err)
}

// unhandledConsumers returns the subscriptions with a backlog that are not here.
func unhandledConsumers(c *database.Conn, here map[int64]bool, last int64) (all []engine.Backlog, err error) {
	type place struct{ id, cursor int64 }
	var places []place
	var candidates []engine.Backlog
	err = c.Query("SELECT id, cursor, name, pattern FROM busgen_subscriptions ORDER BY id", func(s *sqlite3.Stmt) error {
		if id := s.ColumnInt64(0); !here[id] {
			places = append(places, place{id, s.ColumnInt64(1)})
			candidates = append(candidates, engine.Backlog{Name: s.ColumnText(2), Pattern: s.ColumnText(3)})
		}
		return nil
	})
	for i, one := range candidates {
		if err != nil {
			return nil, err
		}
		one.Oldest, err = oldestOpen(c, places[i].id, places[i].cursor, last)
		if !one.Oldest.IsZero() {
			all = append(all, one)
		}
	}
	return all, err
}

// oldestOpen returns when the oldest open event of a subscription was published, of
// those that it looks at; zero if there is none.
func oldestOpen(c *database.Conn, id, cursor, last int64) (oldest time.Time, err error) {
	note := func(s *sqlite3.Stmt) error {
		if at := database.Time(s, 0); oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
		return nil
	}
	// The first rows, and if all of them are dead letters, those that are open, wherever they are.
	for _, rows := range []string{
		"SELECT seq, state FROM busgen_deliveries NOT INDEXED WHERE subscription = ?1 ORDER BY seq LIMIT ?2",
		"SELECT seq, state FROM busgen_deliveries INDEXED BY busgen_deliveries_open WHERE subscription = ?1 AND state <> 'dead' LIMIT ?2",
	} {
		if err == nil && oldest.IsZero() {
			err = c.Query("SELECT created_at FROM busgen_log WHERE seq = (SELECT min(seq) FROM ("+rows+") WHERE state <> 'dead')", note, id, unhandledLooked)
		}
	}
	for _, from := range []int64{cursor, max(cursor, last-unhandledLooked)} {
		if err != nil || !oldest.IsZero() {
			break
		}
		err = c.Query(`
			SELECT l.created_at FROM busgen_log l
			WHERE l.seq > ?2 AND l.seq <= ?3 AND `+withoutRow+`
			ORDER BY l.seq LIMIT 1`, note, id, from, from+unhandledLooked)
	}
	return oldest, err
}

// unroutedTypes returns the relevant types of the events after a seq that no
// subscription is for.
func (ob *observer) unroutedTypes(c *database.Conn, after int64, relevant func(string) bool) ([]string, error) {
	unrouted := map[int64]string{}
	err := c.Query("SELECT id, name FROM busgen_types t WHERE NOT EXISTS (SELECT 1 FROM busgen_routes r WHERE r.type = t.id)", func(s *sqlite3.Stmt) error {
		id := s.ColumnInt64(0)
		info, _ := ob.types.info(id)
		if name := cmp.Or(info.name, s.ColumnText(1)); name[0] != engine.OwnType && relevant(name) {
			unrouted[id] = name
		}
		return nil
	})
	if err != nil || len(unrouted) == 0 {
		return nil, err
	}
	stored := map[string]bool{}
	err = c.Query("SELECT type FROM busgen_log WHERE seq > ?", func(s *sqlite3.Stmt) error {
		if name, ok := unrouted[s.ColumnInt64(0)]; ok {
			stored[name] = true
		}
		return nil
	}, after)
	return slices.Sorted(maps.Keys(stored)), err
}
