package sqlite

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// Subscriptions implements [engine.Log].
func (ob *observer) Subscriptions(_ context.Context, limit int) ([]event.SubscriptionState, error) {
	lags, err := valueOf(ob.ground, func(c *database.Conn) ([]event.SubscriptionState, error) {
		return readLags(c, limit, ob.consumers.nameOf, toTheEnd)
	})
	return lags, fault.Wrap("read", ob.path, err)
}

// readLags calls subscriptions what nameOf makes of their names.
func readLags(c *database.Conn, limit int, nameOf func(id int64, stored string) string, reach reach) (lags []event.SubscriptionState, err error) {
	var ids, cursors []int64
	lags = []event.SubscriptionState{}
	err = c.Query(`
		SELECT s.id, s.cursor, s.name, s.pattern, EXISTS (SELECT 1 FROM busgen_pauses p WHERE p.kind = 'subscription' AND p.target = s.name AND p.key = '')
		FROM busgen_subscriptions s ORDER BY s.id`, func(s *sqlite3.Stmt) error {
		ids, cursors = append(ids, s.ColumnInt64(0)), append(cursors, s.ColumnInt64(1))
		lags = append(lags, event.SubscriptionState{Name: nameOf(s.ColumnInt64(0), s.ColumnText(2)), Pattern: s.ColumnText(3), Paused: s.ColumnBool(4)})
		return nil
	})
	for i := range lags {
		if err == nil {
			err = readLag(c, &lags[i], ids[i], cursors[i], limit, reach)
		}
	}
	return lags, err
}

// rowsCounted is how many rows of a subscription are counted at least.
const rowsCounted = 100_000

// readLag counts for one subscription. The rows of deliveries are counted up to
// limit, or up to rowsCounted if that is more, and those without a row as far as reach goes.
func readLag(c *database.Conn, lag *event.SubscriptionState, id, cursor int64, limit int, reach reach) error {
	first, express, err := countRows(c, lag, id, limit)
	if err != nil {
		return err
	}
	if lag.Held > 0 {
		if err := readNewer(c, lag, id, max(limit, rowsCounted)); err != nil {
			return err
		}
	}
	open := lag.Running + lag.Waiting + lag.Held + express
	there, err := reach(c, cursor, limit)
	if err != nil {
		return err
	}
	behind, err := there.count(c, id, max(0, limit-open))
	if err != nil {
		return err
	}
	last, err := c.Int64("SELECT coalesce(max(seq), 0) FROM busgen_log")
	if err != nil {
		return err
	}
	unknown := there.after // from here on an event may be for it
	if behind == 0 && open < limit {
		unknown = there.end
	}
	if lag.Backlog = min(open+behind, limit); lag.Backlog < limit {
		lag.BacklogAtMost = lag.Backlog + int(max(0, last-there.end))
	} else {
		lag.BacklogAtMost = max(lag.Backlog, open+int(max(0, last-there.after)))
	}
	return c.Query(`
		SELECT min(created_at) FROM (
		  SELECT created_at FROM (SELECT l.created_at FROM busgen_log l
		    WHERE l.seq > ?2 AND (`+withoutRow+` OR l.seq > ?4)
		    ORDER BY l.seq LIMIT 1)
		  UNION ALL
		  SELECT created_at FROM busgen_log WHERE seq = ?3)`, func(s *sqlite3.Stmt) error {
		if s.ColumnType(0) != sqlite3.NULL {
			lag.Oldest = database.Time(s, 0)
		}
		return nil
	}, id, unknown, first, there.end)
}

// countRows counts the first rows of a subscription, in the order of the log, by their state, and returns the place of
// the first open one, 0 for none. If these are not all rows, and hardly any of them is open, it counts up to limit open
// ones wherever they are; with more than limit behind the first rows, the place is that of the first one that it has
// counted. Express deliveries that were not polled are counted apart: they do not wait for a time.
//
// It counts here and not in SQL, which takes three times as long to group them.
func countRows(c *database.Conn, lag *event.SubscriptionState, id int64, limit int) (first int64, express int, err error) {
	counts := map[string]*int{tables.RowRunning: &lag.Running, tables.RowWaiting: &lag.Waiting, tables.RowHeld: &lag.Held, tables.RowDead: &lag.Dead}
	const columns = "state, seq, due_at, suspended, waitlist"
	most, rows, now := max(limit, rowsCounted), 0, time.Now().UnixMicro()
	count := func(s *sqlite3.Stmt) error {
		state, due := string(s.ColumnRawText(0)), s.ColumnInt64(2)
		if due < 0 {
			express++
		} else if state == tables.RowHeld && s.ColumnType(4) != sqlite3.NULL {
			lag.Waiting++ // it is parked
		} else if n := counts[state]; n != nil {
			*n++
			if s.ColumnBool(3) {
				lag.Suspended++
			}
			if due > now && state == tables.RowWaiting {
				lag.Later++
				first := time.UnixMicro(due).UTC()
				if lag.NextDue.IsZero() || first.Before(lag.NextDue) {
					lag.NextDue = first
				}
			}
		}
		return nil
	}
	err = c.Query("SELECT "+columns+" FROM busgen_deliveries NOT INDEXED WHERE subscription = ? ORDER BY seq LIMIT ?", func(s *sqlite3.Stmt) error {
		rows++
		if first == 0 && string(s.ColumnRawText(0)) != tables.RowDead {
			first = s.ColumnInt64(1)
		}
		return count(s)
	}, id, most)
	lag.Partial = rows >= most
	if err != nil || !lag.Partial || lag.Running+lag.Waiting+lag.Held+express >= limit {
		return first, express, err
	}
	lag.Running, lag.Waiting, lag.Later, lag.Suspended, lag.Held, express = 0, 0, 0, 0, 0, 0
	err = c.Query("SELECT "+columns+" FROM busgen_deliveries INDEXED BY busgen_deliveries_open WHERE subscription = ? AND state <> 'dead' LIMIT ?", func(s *sqlite3.Stmt) error {
		if seq := s.ColumnInt64(1); first == 0 || seq < first {
			first = seq
		}
		return count(s)
	}, id, limit)
	return first, express, err
}

// readNewer says which of so many open rows of a subscription are held for their version.
func readNewer(c *database.Conn, lag *event.SubscriptionState, id int64, most int) error {
	return c.Query(`
		SELECT t.name, t.version, count(*), min(d.due_at - d.wait)
		FROM (SELECT seq, state, due_at, wait FROM busgen_deliveries INDEXED BY busgen_deliveries_open WHERE subscription = ? AND state <> 'dead' LIMIT ?) d
		JOIN busgen_log l ON l.seq = d.seq JOIN busgen_types t ON t.id = l.type
		WHERE `+heldForVersion+` GROUP BY 1, 2 ORDER BY 4, 1, 2`, func(s *sqlite3.Stmt) error {
		lag.Newer = append(lag.Newer, event.Newer{Type: s.ColumnText(0), Version: s.ColumnInt(1), Events: s.ColumnInt(2), Since: database.Time(s, 3)})
		return nil
	}, id, most)
}

// notPassed is the SQL condition that the cursor of subscription s has not passed event
// l. A delayed event has a row in deliveries from the beginning.
const notPassed = "l.due_at IS NULL AND l.seq > s.cursor AND NOT " + goneAhead

// goneAhead is the SQL condition that event l is express for subscription s, and so has a row from the beginning, too.
const goneAhead = "EXISTS (SELECT 1 FROM busgen_express a WHERE a.subscription = s.id AND a.seq = l.seq)"

// withoutRow is the SQL condition that event l, above the cursor of subscription ?1, is
// for it and has no row in deliveries.
const withoutRow = `
	l.due_at IS NULL AND l.type IN (SELECT type FROM busgen_routes WHERE subscription = ?1)
	AND NOT EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.subscription = ?1 AND d.seq = l.seq)
	AND NOT EXISTS (SELECT 1 FROM busgen_express a WHERE a.subscription = ?1 AND a.seq = l.seq)`

// A window is the part of the log above a cursor in which events are counted.
type window struct {
	after, end int64 // seqs: the first is not in it, the last is
}

// A reach says how far above a cursor events are counted, for who counts up to limit.
type reach func(c *database.Conn, cursor int64, limit int) (window, error)

// toTheEnd is for decisions: the count is exact up to its limit. Where few events are for the
// subscription, that takes half a second for each million events that are not.
func toTheEnd(_ *database.Conn, cursor int64, _ int) (window, error) {
	return window{cursor, math.MaxInt64}, nil
}

const (
	windowEvents = 100_000
	windowFactor = 10 // how many events are read at least for one that can be counted
)

// notFar is for looking: it takes milliseconds however long the log is.
func notFar(c *database.Conn, cursor int64, limit int) (window, error) {
	// What was pruned leaves a gap.
	after, err := c.Int64("SELECT coalesce(min(seq) - 1, ?1) FROM busgen_log WHERE seq > ?1", cursor)
	return window{after, after + max(windowEvents, windowFactor*int64(limit))}, err
}

// count counts the events of a window that are for a subscription and have no row, up to a limit.
func (w window) count(c *database.Conn, id int64, limit int) (int, error) {
	n, err := c.Int64(`
		SELECT count(*) FROM (
		  SELECT 1 FROM busgen_log l
		  WHERE l.seq > ?2 AND l.seq <= ?4 AND `+withoutRow+`
		  ORDER BY l.seq LIMIT ?3)`, id, w.after, limit, w.end)
	return int(n), err
}

// unhandledLooked is how many events of the log are looked at, from a cursor on and from the end of the log back, and
// how many rows of a subscription. Nothing tells where the events of a type are, so that a subscription for rare ones
// would make each look read the whole log.
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
		if name := cmp.Or(info.name, s.ColumnText(1)); !engine.IsOwn(name) && relevant(name) {
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
