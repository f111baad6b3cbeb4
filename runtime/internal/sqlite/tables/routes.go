package tables

import (
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// TypeRows reads the table.
func TypeRows(c *database.Conn) (rows []typenames.Row, err error) {
	err = c.Query("SELECT id, name, written, version FROM busgen_types ORDER BY id", func(s *sqlite3.Stmt) error {
		rows = append(rows, typenames.Row{ID: s.ColumnInt64(0), Name: s.ColumnText(1), Written: s.ColumnText(2), Version: s.ColumnInt(3)})
		return nil
	})
	return rows, err
}

// RouteAll makes the routes of all subscriptions those of their patterns.
func RouteAll(c *database.Conn) error {
	patterns := map[int64]string{}
	err := c.Query("SELECT id, pattern FROM busgen_subscriptions", func(s *sqlite3.Stmt) error {
		patterns[s.ColumnInt64(0)] = s.ColumnText(1)
		return nil
	})
	for id, pattern := range patterns {
		if err == nil {
			err = DeclareRoutes(c, id, pattern)
		}
	}
	return err
}

// EverySubscription stands for all of them, because no id is 0.
const EverySubscription = 0

// EndFormerRoutes gives each event that a subscription has not settled, of a type that
// its pattern is no longer for, a row in deliveries. No process may poll for the
// subscription meanwhile.
func EndFormerRoutes(c *database.Conn, subscription int64) error {
	type route struct{ eventType, subscription int64 }
	var former []route
	err := c.Query("SELECT type, subscription FROM busgen_routes WHERE former AND ?1 IN (0, subscription)", func(s *sqlite3.Stmt) error {
		former = append(former, route{s.ColumnInt64(0), s.ColumnInt64(1)})
		return nil
	}, subscription)
	for _, r := range former {
		if err != nil {
			return err
		}
		err = c.Exec(`
			INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at)
			SELECT ?1, l.seq, 'waiting', 0, ?3 FROM busgen_log l
			WHERE l.seq > (SELECT cursor FROM busgen_subscriptions WHERE id = ?1) AND l.type = ?2 AND l.due_at IS NULL
			  AND NOT EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.subscription = ?1 AND d.seq = l.seq)
			  AND NOT EXISTS (SELECT 1 FROM busgen_express a WHERE a.subscription = ?1 AND a.seq = l.seq)`,
			r.subscription, r.eventType, AtOnce)
		if err == nil {
			err = c.Exec("DELETE FROM busgen_routes WHERE type = ? AND subscription = ?", r.eventType, r.subscription)
		}
	}
	return err
}

// TypesFor returns the numbers of the types that a pattern is for, in order.
func TypesFor(c *database.Conn, pattern string) (ids []int64, err error) {
	if !strings.ContainsAny(pattern, "* ") { // one type, which indexes find among thousands
		err = c.Query("SELECT id FROM busgen_types WHERE name = coalesce((SELECT name FROM busgen_types WHERE written = ?1 LIMIT 1), ?1) ORDER BY id",
			func(s *sqlite3.Stmt) error {
				ids = append(ids, s.ColumnInt64(0))
				return nil
			}, pattern)
		return ids, err
	}
	return TypesMatching(c, []string{pattern})
}

// TypesMatching returns the numbers of the types that match one of the globs, under
// any of their names.
func TypesMatching(c *database.Conn, globs []string) (types []int64, err error) {
	rows, err := TypeRows(c)
	names := typenames.All(rows)
	for _, row := range rows {
		for _, one := range globs {
			matches, err := typenames.MatchesAny(one, names[row.Name])
			if err != nil {
				return nil, fmt.Errorf("type %q: %w", one, err)
			}
			if matches {
				types = append(types, row.ID)
				break
			}
		}
	}
	return types, err
}

// IdsWhere returns the ids of the rows (id, text) whose text matches.
func IdsWhere(c *database.Conn, sql string, matches func(text string) (bool, error)) (ids []int64, err error) {
	err = c.Query(sql, func(s *sqlite3.Stmt) error {
		ok, err := matches(s.ColumnText(1))
		if ok {
			ids = append(ids, s.ColumnInt64(0))
		}
		return err
	})
	return ids, err
}

// DeclareRoutes makes the routes of a subscription those of its pattern. Other routes
// become former ones.
func DeclareRoutes(c *database.Conn, subscription int64, pattern string) error {
	if err := c.Exec("UPDATE busgen_routes SET former = 1 WHERE subscription = ?", subscription); err != nil {
		return err
	}
	types, err := TypesFor(c, pattern)
	if err != nil {
		return err
	}
	for _, typeID := range types {
		if err := c.Exec("INSERT OR REPLACE INTO busgen_routes (type, subscription) VALUES (?, ?)", typeID, subscription); err != nil {
			return err
		}
	}
	return nil
}
