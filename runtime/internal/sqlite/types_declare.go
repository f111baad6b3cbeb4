package sqlite

import (
	"context"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

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
	relative, name := int64(0), key.name // another version of it
	err = c.query("SELECT id, name, version FROM types WHERE written = ?", func(s *sqlite3.Stmt) error {
		relative, name = s.ColumnInt64(0), s.ColumnText(1)
		if s.ColumnInt(2) == key.version {
			typeID = relative
		}
		return nil
	}, key.name)
	if err != nil || typeID != 0 {
		return typeID, err
	}
	if err := c.exec("INSERT INTO types (name, written, version) VALUES (?, ?, ?)", name, key.name, key.version); err != nil {
		return 0, err
	}
	typeID = c.LastInsertRowID()
	if relative != 0 {
		return typeID, c.exec("INSERT INTO routes (type, subscription) SELECT ?, subscription FROM routes WHERE type = ?", typeID, relative)
	}
	subscriptions, err := idsWhere(c, "SELECT id, pattern FROM subscriptions", func(pattern string) (bool, error) {
		return patternMatches(pattern, key.name)
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
