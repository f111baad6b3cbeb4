package sqlite

import (
	"cmp"
	"context"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// DeclareTypes implements [engine.Log].
func (l *Log) DeclareTypes(ctx context.Context, specs []engine.TypeSpec) error {
	l.types.mu.Lock()
	for _, spec := range specs {
		l.types.own[spec.Name] = spec.Name
		for _, alias := range spec.Aliases {
			l.types.own[alias] = spec.Name
		}
	}
	l.types.mu.Unlock()
	needed := false
	err := l.read(func(c *conn) error {
		rows, err := typeRows(c)
		if err != nil {
			return err
		}
		changed, err := changedSchemas(c, rows, specs)
		needed = len(changed) > 0 || len(missingTypes(rows, specs)) > 0 || len(renamedTypes(rows, specs)) > 0
		return err
	})
	if needed && err == nil {
		err = l.writer.do(ctx, func(c *conn) error {
			if err := declareTypes(c, specs); err != nil {
				return err
			}
			return storeSchemas(c, specs, l.program)
		})
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
	if err := routeAll(c); err != nil {
		return err
	}
	return releaseHeld(c) // a pause of types may have been for what is another type now
}

// missingTypes lists the types that have no row. Aliases have one even if nothing was
// published as such: a program of before may be about to.
func missingTypes(rows []typeRow, specs []engine.TypeSpec) (missing []typeKey) {
	known := map[typeKey]bool{}
	for _, row := range rows {
		known[typeKey{row.written, row.version}] = true
	}
	for _, spec := range specs {
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

// renamedTypes returns the names of rows that are not what they should be: those that
// a catalogue says are one type have one name, and those that it says are two have two.
func renamedTypes(rows []typeRow, specs []engine.TypeSpec) map[int64]string {
	c := typeClaimsOf(rows, specs)
	now, changed := map[string]string{}, map[int64]string{}
	for _, row := range rows {
		now[row.written] = c.called(row)
	}
	for _, row := range rows {
		name := now[row.written]
		if base, dead := strings.CutPrefix(row.written, engine.DeadType("")); dead && now[base] != "" {
			name = engine.DeadType(now[base])
		}
		if name != row.name {
			changed[row.id] = name
		}
	}
	return changed
}

// typeClaims is what a catalogue says about the rows of a file.
type typeClaims struct {
	owner map[string]*engine.TypeSpec          // by name, former ones included
	specs map[string]map[*engine.TypeSpec]bool // by the name of the rows: who owns some of them
}

func typeClaimsOf(rows []typeRow, specs []engine.TypeSpec) typeClaims {
	c := typeClaims{map[string]*engine.TypeSpec{}, map[string]map[*engine.TypeSpec]bool{}}
	for i := range specs {
		spec := &specs[i]
		c.owner[spec.Name] = spec
		for _, alias := range spec.Aliases {
			c.owner[alias] = spec
		}
	}
	for _, row := range rows {
		spec := c.owner[row.written]
		if spec == nil {
			continue
		}
		if c.specs[row.name] == nil {
			c.specs[row.name] = map[*engine.TypeSpec]bool{}
		}
		c.specs[row.name][spec] = true
	}
	return c
}

// called is what a row should be named. A newer name stays if the catalogue knows of no
// renaming: a program that was rolled back finds its events under all names.
func (c typeClaims) called(row typeRow) string {
	spec := cmp.Or(c.owner[row.written], c.owner[row.name])
	if sharers := c.specs[row.name]; len(sharers) == 1 && c.owner[row.name] == nil {
		for only := range sharers {
			if len(only.Aliases) == 0 {
				return row.name
			}
			spec = only
		}
	}
	if spec == nil {
		return row.name
	}
	return spec.Name
}

// declareType returns a type's number, and adds the type with its routes
// unless it is known.
func declareType(c *conn, key typeKey) (typeID int64, err error) {
	key.version = max(key.version, 1)
	relative, name := int64(0), key.name // another row of the same type
	err = c.query("SELECT id, name, version FROM types WHERE written = ?", func(s *sqlite3.Stmt) error {
		relative, name = s.ColumnInt64(0), s.ColumnText(1)
		if s.ColumnInt(2) == key.version {
			typeID = relative
		}
		return nil
	}, key.name)
	if base, dead := strings.CutPrefix(key.name, engine.DeadType("")); err == nil && dead && relative == 0 {
		relative, name, err = announcement(c, base)
	}
	if err != nil || typeID != 0 {
		return typeID, err
	}
	if err := c.exec("INSERT INTO types (name, written, version) VALUES (?, ?, ?)", name, key.name, key.version); err != nil {
		return 0, err
	}
	typeID = c.LastInsertRowID()
	if relative != 0 {
		return typeID, c.exec("INSERT INTO routes (type, subscription, former) SELECT ?, subscription, former FROM routes WHERE type = ?", typeID, relative)
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

// announcement returns the name that the bus's own type for dead letters of a type has
// today, and a row of it; 0 if there is none.
func announcement(c *conn, base string) (typeID int64, name string, err error) {
	name = engine.DeadType(base)
	err = c.query("SELECT name FROM types WHERE written = ? LIMIT 1", func(s *sqlite3.Stmt) error {
		name = engine.DeadType(s.ColumnText(0))
		return nil
	}, base)
	if err != nil {
		return 0, name, err
	}
	typeID, err = c.int64("SELECT max(id) FROM types WHERE name = ?", name)
	return typeID, name, err
}
