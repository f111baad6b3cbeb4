package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// typeInfo is what this process knows of a row.
type typeInfo struct {
	name    string   // that of this process's catalogue, if it has one for the type
	version int      // of the payloads
	names   []string // all that the type ever had
}

// typeTable numbers event types. Numbers are never reused, so what is cached
// stays true. It is safe for concurrent use.
type typeTable struct {
	mu    sync.RWMutex
	own   map[string]string // the names of this process's catalogue, by all that it knows
	ids   map[typenames.Key]int64
	infos map[int64]typeInfo

	changes atomic.Int64 // grows with the names that are known
}

func newTypeTable() *typeTable {
	return &typeTable{own: map[string]string{}, ids: map[typenames.Key]int64{}, infos: map[int64]typeInfo{}}
}

// number appends records as rows. A type that nobody has declared yet is
// numbered by the transaction that inserts its first event.
func (t *typeTable) number(dst []logged, records []engine.Record) []logged {
	if len(records) == 0 {
		return dst
	}
	dst = slices.Grow(dst, len(records))
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, r := range records {
		r.Version = max(r.Version, 1)
		dst = append(dst, logged{Record: r, typeID: t.ids[typenames.Key{Name: r.Type, Version: r.Version}]})
	}
	return dst
}

func (t *typeTable) info(id int64) (typeInfo, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	info, ok := t.infos[id]
	return info, ok
}

// resolve sets the type and version of a record that was read from the file.
func (t *typeTable) resolve(c *database.Conn, id int64, r *engine.Record) error {
	info, known := t.info(id)
	if !known { // declared by another process, or by the transaction that appended its first event
		if err := t.load(c); err != nil {
			return err
		}
		info, _ = t.info(id)
	}
	r.Type, r.Version = info.name, info.version
	return nil
}

// resolveWithin is resolve in a transaction that may be rolled back, with all types that it has declared.
// So it remembers nothing.
func (t *typeTable) resolveWithin(c *database.Conn, id int64, r *engine.Record) error {
	info, known := t.info(id)
	if !known {
		rows, err := typeRows(c)
		if err != nil {
			return err
		}
		t.mu.RLock()
		here := typenames.Here(rows, t.own)
		t.mu.RUnlock()
		for _, row := range rows {
			if row.ID == id {
				info.name, info.version = here[row.Written], row.Version
			}
		}
	}
	r.Type, r.Version = info.name, info.version
	return nil
}

// load reads all types that the file knows.
func (t *typeTable) load(c *database.Conn) error {
	return t.read(c, false)
}

// reload is load for another log, which has numbers of its own.
func (t *typeTable) reload(c *database.Conn) error { return t.read(c, true) }

func (t *typeTable) read(c *database.Conn, anew bool) error {
	rows, err := typeRows(c)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if anew {
		clear(t.ids)
		clear(t.infos)
		t.changes.Add(1)
	}
	here, names := typenames.Here(rows, t.own), typenames.All(rows)
	for _, row := range rows {
		info := typeInfo{here[row.Written], row.Version, names[row.Name]}
		if !slices.Equal(t.infos[row.ID].names, info.names) {
			t.changes.Add(1)
		}
		t.ids[typenames.Key{Name: row.Written, Version: row.Version}], t.infos[row.ID] = row.ID, info
	}
	return nil
}

// typeRows reads the table.
func typeRows(c *database.Conn) (rows []typenames.Row, err error) {
	err = c.Query("SELECT id, name, written, version FROM busgen_types ORDER BY id", func(s *sqlite3.Stmt) error {
		rows = append(rows, typenames.Row{ID: s.ColumnInt64(0), Name: s.ColumnText(1), Written: s.ColumnText(2), Version: s.ColumnInt(3)})
		return nil
	})
	return rows, err
}

// typeMatcher tells which types a pattern covers. It is for one goroutine at a time.
type typeMatcher struct {
	ground  *ground
	pattern string         // globs with spaces between them, which were parsed before
	matches map[int64]bool // by type number
	known   int64          // the changes of the type table that matches knows
}

// match tells whether the pattern covers a type.
func (m *typeMatcher) match(typeID int64) bool {
	if changes := m.ground.types.changes.Load(); changes != m.known || m.matches == nil {
		m.known = changes
		m.matches = map[int64]bool{}
	}
	matches, known := m.matches[typeID]
	if known {
		return matches
	}
	info, known := m.ground.types.info(typeID)
	if !known { // declared by the transaction that appended its first event
		if m.ground.read(m.ground.types.load) != nil {
			return true // the attempt will say what it is
		}
		info, _ = m.ground.types.info(typeID)
	}
	matches, _ = typenames.MatchesAny(m.pattern, info.names)
	m.matches[typeID] = matches
	return matches
}

// routeAll makes the routes of all subscriptions those of their patterns.
func routeAll(c *database.Conn) error {
	patterns := map[int64]string{}
	err := c.Query("SELECT id, pattern FROM busgen_subscriptions", func(s *sqlite3.Stmt) error {
		patterns[s.ColumnInt64(0)] = s.ColumnText(1)
		return nil
	})
	for id, pattern := range patterns {
		if err == nil {
			err = declareRoutes(c, id, pattern)
		}
	}
	return err
}

// declareRoutes makes the routes of a subscription those of its pattern. Other routes
// become former ones.
func declareRoutes(c *database.Conn, subscription int64, pattern string) error {
	if err := c.Exec("UPDATE busgen_routes SET former = 1 WHERE subscription = ?", subscription); err != nil {
		return err
	}
	types, err := typesFor(c, pattern)
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

// everySubscription stands for all of them, because no id is 0.
const everySubscription = 0

// endFormerRoutes gives each event that a subscription has not settled, of a type that
// its pattern is no longer for, a row in deliveries. No process may poll for the
// subscription meanwhile.
func endFormerRoutes(c *database.Conn, subscription int64) error {
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
			r.subscription, r.eventType, atOnce)
		if err == nil {
			err = c.Exec("DELETE FROM busgen_routes WHERE type = ? AND subscription = ?", r.eventType, r.subscription)
		}
	}
	return err
}

// typesFor returns the numbers of the types that a pattern is for, in order.
func typesFor(c *database.Conn, pattern string) (ids []int64, err error) {
	if !strings.ContainsAny(pattern, "* ") { // one type, which indexes find among thousands
		err = c.Query("SELECT id FROM busgen_types WHERE name = coalesce((SELECT name FROM busgen_types WHERE written = ?1 LIMIT 1), ?1) ORDER BY id",
			func(s *sqlite3.Stmt) error {
				ids = append(ids, s.ColumnInt64(0))
				return nil
			}, pattern)
		return ids, err
	}
	return typesMatching(c, []string{pattern})
}

// typesMatching returns the numbers of the types that match one of the globs, under
// any of their names.
func typesMatching(c *database.Conn, globs []string) (types []int64, err error) {
	rows, err := typeRows(c)
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

// idsWhere returns the ids of the rows (id, text) whose text matches.
func idsWhere(c *database.Conn, sql string, matches func(text string) (bool, error)) (ids []int64, err error) {
	err = c.Query(sql, func(s *sqlite3.Stmt) error {
		ok, err := matches(s.ColumnText(1))
		if ok {
			ids = append(ids, s.ColumnInt64(0))
		}
		return err
	})
	return ids, err
}
