package sqlite

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// FailureGroups implements [engine.DeadLetterReader].
func (i *Inspection) FailureGroups(ctx context.Context, f engine.Filter) (groups []event.FailureGroup, err error) {
	err = i.look(ctx, "group the dead letters of", func(c *database.Conn) error {
		groups, err = readGroups(c, f)
		for n := range groups {
			if err == nil {
				err = addSample(c, f, &groups[n])
			}
		}
		return err
	})
	return groups, err
}

// failures are the dead letters of a group, with the numbers of their types and subscriptions.
type failures struct {
	count                int
	first, last          int64
	types, subscriptions map[int64]bool
}

// readGroups groups dead letters, here and not in SQL, which takes twice as long to find out
// which types and subscriptions they have.
func readGroups(c *database.Conn, f engine.Filter) (groups []event.FailureGroup, err error) {
	w, err := deadFilter{Filter: f}.condition(c)
	if err != nil {
		return nil, err
	}
	dead, err := deadInOrder(c, w.sql.Len() > 0)
	if err != nil {
		return nil, err
	}
	found := map[string]*failures{}
	err = c.Query(`
		SELECT d.fingerprint, d.dead_at, d.subscription, l.type
		FROM (SELECT * FROM busgen_deliveries d `+dead+w.sql.String()+`) d CROSS JOIN busgen_log l ON l.seq = d.seq`, func(s *sqlite3.Stmt) error {
		one, at := found[string(s.ColumnRawText(0))], s.ColumnInt64(1)
		if one == nil {
			one = &failures{first: at, last: at, types: map[int64]bool{}, subscriptions: map[int64]bool{}}
			found[s.ColumnText(0)] = one
		}
		one.count++
		one.first, one.last = min(one.first, at), max(one.last, at)
		one.subscriptions[s.ColumnInt64(2)], one.types[s.ColumnInt64(3)] = true, true
		return nil
	}, w.args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	types, err := namesOf(c, "SELECT id, name FROM busgen_types")
	if err != nil {
		return nil, err
	}
	subscriptions, err := namesOf(c, "SELECT id, name FROM busgen_subscriptions")
	for fingerprint, one := range found {
		groups = append(groups, event.FailureGroup{
			Fingerprint: fingerprint, Count: one.count, First: time.UnixMicro(one.first).UTC(), Last: time.UnixMicro(one.last).UTC(),
			Types: named(one.types, types), Subscriptions: named(one.subscriptions, subscriptions),
		})
	}
	slices.SortFunc(groups, func(a, b event.FailureGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return groups, err
}

// deadInOrder is the SQL condition on deliveries d that they are dead. Without a filter, and if most
// rows are dead, it makes SQLite read them in the order of the log: their index has the order of
// the groups, and with a million of them in ten groups the log would be gone through ten times.
func deadInOrder(c *database.Conn, filtered bool) (string, error) {
	const asItLikes = "WHERE d.state = 'dead'"
	if filtered {
		return asItLikes, nil
	}
	mostly, err := c.Int64(`
		SELECT (SELECT count(*) FROM busgen_deliveries INDEXED BY busgen_deliveries_dead WHERE state = 'dead')
		  > (SELECT count(*) FROM (SELECT 1 FROM busgen_deliveries INDEXED BY busgen_deliveries_open WHERE state <> 'dead' LIMIT ?))`, rowsCounted)
	if err != nil || mostly == 0 {
		return asItLikes, err
	}
	return "NOT INDEXED WHERE +d.state = 'dead'", nil
}

// namesOf reads names by their numbers.
func namesOf(c *database.Conn, sql string) (names map[int64]string, err error) {
	names = map[int64]string{}
	err = c.Query(sql, func(s *sqlite3.Stmt) error {
		names[s.ColumnInt64(0)] = s.ColumnText(1)
		return nil
	})
	return names, err
}

// named returns the names of numbers, each once, in alphabetical order. Several types have the
// same name: they are its versions.
func named(ids map[int64]bool, names map[int64]string) []string {
	all := map[string]bool{}
	for id := range ids {
		if name, known := names[id]; known {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// addSample adds what the newest dead letter of a group says about all of them.
func addSample(c *database.Conn, f engine.Filter, g *event.FailureGroup) error {
	f.Group = g.Fingerprint
	newest, err := readDeadLetters(c, f, newestFirst, nil, 0, 1, listedBytes)
	if len(newest) > 0 {
		last := newest[0].LastAttempt()
		g.Reason, g.ErrorType, g.Message, g.Sample = newest[0].Reason, last.ErrorType, last.Error, newest[0].Key
	}
	return err
}

// FailureGroupNames implements [engine.DeadLetterReader].
func (i *Inspection) FailureGroupNames(ctx context.Context, prefix string) (names []string, err error) {
	err = i.look(ctx, "group the dead letters of", func(c *database.Conn) error {
		// From one name to the next: SELECT DISTINCT would read all dead letters.
		names, err = texts(c, `
			WITH RECURSIVE f (name) AS (
			  SELECT (SELECT min(fingerprint) FROM busgen_deliveries WHERE state = 'dead' AND fingerprint >= ?1)
			  UNION ALL
			  SELECT (SELECT min(fingerprint) FROM busgen_deliveries WHERE state = 'dead' AND fingerprint > f.name)
			  FROM f WHERE substr(f.name, 1, length(?1)) = ?1)
			SELECT name FROM f WHERE substr(name, 1, length(?1)) = ?1`, prefix)
		return err
	})
	return names, err
}
