package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// typeTable numbers event types. Numbers are never reused, so what is cached
// stays true. It is safe for concurrent use.
type typeTable struct {
	log *Log

	mu    sync.RWMutex
	ids   map[string]int64
	names map[int64]string
}

func newTypeTable(log *Log) *typeTable {
	return &typeTable{log: log, ids: map[string]int64{}, names: map[int64]string{}}
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
		dst = append(dst, logged{Record: r, typeID: t.ids[r.Type]})
	}
	return dst
}

func (t *typeTable) id(name string) (int64, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	id, ok := t.ids[name]
	return id, ok
}

func (t *typeTable) name(id int64) (string, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	name, ok := t.names[id]
	return name, ok
}

// load reads all types that the file knows.
func (t *typeTable) load(c *conn) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.query("SELECT id, name FROM types", func(s *sqlite3.Stmt) error {
		id, name := s.ColumnInt64(0), s.ColumnText(1)
		t.ids[name], t.names[id] = id, name
		return nil
	})
}

// DeclareTypes implements [engine.Log].
func (l *Log) DeclareTypes(ctx context.Context, names []string) error {
	missing := false
	for _, name := range names {
		if _, ok := l.types.id(name); !ok {
			missing = true
		}
	}
	if !missing {
		return nil
	}
	err := l.writer.do(ctx, func(c *conn) error {
		for _, name := range names {
			if _, err := declareType(c, name); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = l.read(l.types.load)
	}
	return storageError("declare event types in", l.path, err)
}

// declareType returns a type's number, and adds the type with its routes
// unless it is known.
func declareType(c *conn, name string) (typeID int64, err error) {
	if typeID, err = c.int64("SELECT id FROM types WHERE name = ?", name); err != nil || typeID != 0 {
		return typeID, err
	}
	if err := c.exec("INSERT INTO types (name) VALUES (?)", name); err != nil {
		return 0, err
	}
	typeID = c.LastInsertRowID()
	subscriptions, err := idsWhere(c, "SELECT id, pattern FROM subscriptions", func(pattern string) (bool, error) {
		return patternMatches(pattern, name)
	})
	if err != nil {
		return 0, err
	}
	for _, subscription := range subscriptions {
		if err := c.exec("INSERT INTO routes (type, subscription) VALUES (?, ?)", typeID, subscription); err != nil {
			return 0, err
		}
	}
	return typeID, nil
}

// declareRoutes makes the routes of a subscription those of its pattern.
func declareRoutes(c *conn, subscription int64, pattern string) error {
	if err := c.exec("DELETE FROM routes WHERE subscription = ?", subscription); err != nil {
		return err
	}
	types, err := idsWhere(c, "SELECT id, name FROM types", func(name string) (bool, error) {
		return patternMatches(pattern, name)
	})
	if err != nil {
		return err
	}
	for _, typeID := range types {
		if err := c.exec("INSERT INTO routes (type, subscription) VALUES (?, ?)", typeID, subscription); err != nil {
			return err
		}
	}
	return nil
}

// idsWhere returns the ids of the rows (id, text) whose text matches.
func idsWhere(c *conn, sql string, matches func(text string) (bool, error)) (ids []int64, err error) {
	err = c.query(sql, func(s *sqlite3.Stmt) error {
		ok, err := matches(s.ColumnText(1))
		if ok {
			ids = append(ids, s.ColumnInt64(0))
		}
		return err
	})
	return ids, err
}

// patternMatches tells whether one of the globs in pattern matches an event type.
func patternMatches(pattern, name string) (bool, error) {
	if name[0] == engine.OwnType || pattern[0] == engine.OwnType {
		return pattern == name, nil
	}
	for one := range strings.FieldsSeq(pattern) {
		p, err := glob.Parse(one)
		if err != nil {
			return false, fmt.Errorf("subscription pattern %q: %w", one, err)
		}
		if p.Match(name) {
			return true, nil
		}
	}
	return false, nil
}
