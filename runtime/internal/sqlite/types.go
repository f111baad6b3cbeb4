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

// typeRow is one row of types. Rows with the same name are one event type: its
// versions, and what it was called before.
type typeRow struct {
	id      int64
	name    string // what the type is called by the catalogue that was opened last
	written string // what it was called when the events of this row were published
	version int    // of their payloads
}

// typeKey is what is published: a type as a program calls it, and the version of
// its payload.
type typeKey struct {
	name    string
	version int
}

// typeInfo is what this process knows of a row.
type typeInfo struct {
	typeKey          // the name is that of this process's catalogue, if it has one for the type
	names   []string // all that the type ever had
}

// typeTable numbers event types. Numbers are never reused, so what is cached
// stays true. It is safe for concurrent use.
type typeTable struct {
	log *Log

	mu       sync.RWMutex
	declared map[string]bool // the names of this process's catalogue
	ids      map[typeKey]int64
	infos    map[int64]typeInfo
}

func newTypeTable(log *Log) *typeTable {
	return &typeTable{log: log, declared: map[string]bool{}, ids: map[typeKey]int64{}, infos: map[int64]typeInfo{}}
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
		dst = append(dst, logged{Record: r, typeID: t.ids[typeKey{r.Type, r.Version}]})
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
func (t *typeTable) resolve(c *conn, id int64, r *engine.Record) error {
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

// load reads all types that the file knows.
func (t *typeTable) load(c *conn) error {
	rows, err := typeRows(c)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	names := namesOf(rows)
	for _, row := range rows {
		info := typeInfo{typeKey{row.name, row.version}, names[row.name]}
		if own := slices.IndexFunc(info.names, func(name string) bool { return t.declared[name] }); own >= 0 && !t.declared[row.name] {
			info.name = info.names[own]
		}
		t.ids[typeKey{row.written, row.version}], t.infos[row.id] = row.id, info
	}
	return nil
}

// typeRows reads the table.
func typeRows(c *conn) (rows []typeRow, err error) {
	err = c.query("SELECT id, name, written, version FROM types ORDER BY id", func(s *sqlite3.Stmt) error {
		rows = append(rows, typeRow{s.ColumnInt64(0), s.ColumnText(1), s.ColumnText(2), s.ColumnInt(3)})
		return nil
	})
	return rows, err
}

// namesOf lists the names that each type ever had, by what it is called now.
func namesOf(rows []typeRow) map[string][]string {
	names := map[string][]string{}
	for _, row := range rows {
		for _, name := range []string{row.name, row.written} {
			if !slices.Contains(names[row.name], name) {
				names[row.name] = append(names[row.name], name)
			}
		}
	}
	return names
}

// DeclareTypes implements [engine.Log].
func (l *Log) DeclareTypes(ctx context.Context, specs []engine.TypeSpec) error {
	l.types.mu.Lock()
	for _, spec := range specs {
		l.types.declared[spec.Name] = true
	}
	l.types.mu.Unlock()
	needed := false
	err := l.read(func(c *conn) error {
		rows, err := typeRows(c)
		needed = err == nil && (len(missingTypes(rows, specs)) > 0 || len(renamedTypes(rows, specs)) > 0)
		return err
	})
	if needed && err == nil {
		err = l.writer.do(ctx, func(c *conn) error { return declareTypes(c, specs) })
	}
	if err == nil {
		err = l.read(l.types.load)
	}
	return storageError("declare event types in", l.path, err)
}

// declareTypes adds what is missing, and gives types the names they have now.
func declareTypes(c *conn, specs []engine.TypeSpec) error {
	rows, err := typeRows(c)
	if err != nil {
		return err
	}
	for _, key := range missingTypes(rows, specs) {
		if _, err := declareType(c, key); err != nil {
			return err
		}
	}
	if rows, err = typeRows(c); err != nil {
		return err
	}
	renamed := renamedTypes(rows, specs)
	if len(renamed) == 0 {
		return nil
	}
	for id, name := range renamed {
		if err := c.exec("UPDATE types SET name = ? WHERE id = ?", name, id); err != nil {
			return err
		}
	}
	return routeAll(c)
}

// missingTypes lists the types that have no row. Aliases have one even if nothing was
// published as such: a program of before may be about to. What announces the dead letters of
// a type that is renamed, is renamed with it.
func missingTypes(rows []typeRow, specs []engine.TypeSpec) (missing []typeKey) {
	known := map[typeKey]bool{}
	for _, row := range rows {
		known[typeKey{row.written, row.version}] = true
	}
	for _, spec := range withDead(rows, specs) {
		keys := []typeKey{{spec.Name, max(spec.Version, 1)}}
		for _, alias := range spec.Aliases {
			keys = append(keys, typeKey{alias, 1})
		}
		for _, key := range keys {
			if !known[key] {
				missing = append(missing, key)
			}
		}
	}
	return missing
}

// withDead adds the bus's own types that announce dead letters of types with aliases,
// if the file has some of them.
func withDead(rows []typeRow, specs []engine.TypeSpec) []engine.TypeSpec {
	all := slices.Clip(specs)
	for _, spec := range specs {
		dead := engine.TypeSpec{Name: engine.DeadType(spec.Name)}
		for _, alias := range spec.Aliases {
			if name := engine.DeadType(alias); slices.ContainsFunc(rows, func(row typeRow) bool { return row.written == name }) {
				dead.Aliases = append(dead.Aliases, name)
			}
		}
		if len(dead.Aliases) > 0 {
			all = append(all, dead)
		}
	}
	return all
}

// renamedTypes returns the names of rows that are not what they should be. A type is
// called what the catalogue with its newest name calls it: an older program that
// knows a former name only does not take it back, because it finds its events
// under all names. Two types that were one, because one had the other's name for
// an alias, are told apart again once both are declared.
func renamedTypes(rows []typeRow, specs []engine.TypeSpec) map[int64]string {
	specs = withDead(rows, specs)
	declared := map[string]bool{}
	for _, spec := range specs {
		declared[spec.Name] = true
	}
	name, present := map[int64]string{}, map[string]int{}
	for called, names := range namesOf(rows) {
		for _, one := range names {
			if declared[one] {
				present[called]++
			}
		}
	}
	for _, row := range rows {
		name[row.id] = row.name
		if declared[row.written] && present[row.name] > 1 {
			name[row.id] = row.written
		}
	}
	for _, spec := range specs {
		for _, row := range rows {
			if slices.Contains(spec.Aliases, row.written) {
				// All that the alias stands for, which may be more than what was written so.
				rename(rows, name, name[row.id], spec.Name, declared)
			}
		}
	}
	changed := map[int64]string{}
	for _, row := range rows {
		if name[row.id] != row.name {
			changed[row.id] = name[row.id]
		}
	}
	return changed
}

// rename gives the rows of one name another, except those of types that are declared
// themselves.
func rename(rows []typeRow, name map[int64]string, from, to string, declared map[string]bool) {
	for _, row := range rows {
		if name[row.id] == from && !declared[row.written] {
			name[row.id] = to
		}
	}
}

// declareType returns a type's number, and adds the type with its routes
// unless it is known.
func declareType(c *conn, key typeKey) (typeID int64, err error) {
	key.version = max(key.version, 1)
	rows, err := typeRows(c)
	if err != nil {
		return 0, err
	}
	name := key.name
	for _, row := range rows {
		if row.written != key.name {
			continue
		}
		if row.version == key.version {
			return row.id, nil
		}
		name = row.name
	}
	if err := c.exec("INSERT INTO types (name, written, version) VALUES (?, ?, ?)", name, key.name, key.version); err != nil {
		return 0, err
	}
	typeID = c.LastInsertRowID()
	names := append(namesOf(rows)[name], key.name)
	subscriptions, err := idsWhere(c, "SELECT id, pattern FROM subscriptions", func(pattern string) (bool, error) {
		return patternMatchesAny(pattern, names)
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

// routeAll makes the routes of all subscriptions those of their patterns.
func routeAll(c *conn) error {
	patterns := map[int64]string{}
	err := c.query("SELECT id, pattern FROM subscriptions", func(s *sqlite3.Stmt) error {
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

// declareRoutes makes the routes of a subscription those of its pattern.
func declareRoutes(c *conn, subscription int64, pattern string) error {
	if err := c.exec("DELETE FROM routes WHERE subscription = ?", subscription); err != nil {
		return err
	}
	types, err := typesFor(c, pattern)
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

// typesFor returns the numbers of the types that a pattern is for, in order.
func typesFor(c *conn, pattern string) (ids []int64, err error) {
	rows, err := typeRows(c)
	if err != nil {
		return nil, err
	}
	names := namesOf(rows)
	for _, row := range rows {
		matches, err := patternMatchesAny(pattern, names[row.name])
		if err != nil {
			return nil, err
		}
		if matches {
			ids = append(ids, row.id)
		}
	}
	return ids, nil
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

// patternMatchesAny tells whether a pattern is for a type that has had these names.
func patternMatchesAny(pattern string, names []string) (bool, error) {
	for _, name := range names {
		if ok, err := patternMatches(pattern, name); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
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
