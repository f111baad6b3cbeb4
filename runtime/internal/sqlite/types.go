package sqlite

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
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
		rows, err := tables.TypeRows(c)
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
	rows, err := tables.TypeRows(c)
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
