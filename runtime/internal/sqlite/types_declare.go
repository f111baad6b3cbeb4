package sqlite

import (
	"context"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// Declare implements [engine.Registry].
func (cs *consumers) Declare(ctx context.Context, types []engine.TypeSpec, consumers []engine.ConsumerSpec) error {
	cs.types.mu.Lock()
	for _, spec := range types {
		cs.types.own[spec.Name] = spec.Name
		for _, alias := range spec.Aliases {
			cs.types.own[alias] = spec.Name
		}
	}
	cs.types.mu.Unlock()
	err := cs.declare(ctx, types, consumers)
	if err == nil {
		err = cs.read(cs.types.load)
	}
	if err == nil {
		err = cs.awaits.declared(types)
	}
	return fault.Wrap("declare event types and subscriptions in", cs.path, err)
}

// declare writes nothing when all is as it should be.
func (cs *consumers) declare(ctx context.Context, types []engine.TypeSpec, consumers []engine.ConsumerSpec) error {
	needed := false
	var missing []engine.ConsumerSpec
	err := cs.read(func(c *database.Conn) error {
		rows, stored, err := readFitting(c, types)
		if err != nil {
			return err
		}
		needed = len(changedSchemas(rows, stored, types)) > 0 || len(typenames.Missing(rows, types)) > 0 || len(typenames.Renamed(rows, types)) > 0
		if !needed {
			awaited, err := readAwaited(c)
			if err != nil {
				return err
			}
			needed = awaited.misses(rows, types)
		}
		missing, err = missingConsumers(c, consumers)
		return err
	})
	if err != nil || !needed && len(missing) == 0 {
		return err
	}
	return cs.writer.do(ctx, func(c *database.Conn) error {
		if needed {
			rows, stored, err := readFitting(c, types) // another process may have stored one meanwhile
			if err != nil {
				return err
			}
			before := rows
			if rows, err = declareTypes(c, rows, types); err != nil {
				return err
			}
			if err := declareAwaited(c, before, rows, types); err != nil {
				return err
			}
			if err := storeSchemas(c, changedSchemas(rows, stored, types), cs.program); err != nil {
				return err
			}
		}
		return cs.declareConsumers(c, consumers, missing)
	})
}

// declareTypes adds what is missing, gives types the names they have now, and returns all rows.
func declareTypes(c *database.Conn, rows []typenames.Row, specs []engine.TypeSpec) ([]typenames.Row, error) {
	missing := typenames.Missing(rows, specs)
	for _, key := range missing {
		if _, err := declareType(c, key); err != nil {
			return nil, err
		}
	}
	var err error
	if len(missing) > 0 {
		if rows, err = tables.TypeRows(c); err != nil {
			return nil, err
		}
	}
	renamed := typenames.Renamed(rows, specs)
	if len(renamed) == 0 {
		return rows, nil
	}
	for id, name := range renamed {
		if err := c.Exec("UPDATE busgen_types SET name = ? WHERE id = ?", name, id); err != nil {
			return nil, err
		}
	}
	if err := tables.RouteAll(c); err != nil {
		return nil, err
	}
	if rows, err = tables.TypeRows(c); err != nil {
		return nil, err
	}
	return rows, releaseHeld(c, time.Now()) // a pause of types may have been for what is another type now
}

// declareType returns a type's number, and adds the type with its routes
// unless it is known.
func declareType(c *database.Conn, key typenames.Key) (typeID int64, err error) {
	key.Version = max(key.Version, 1)
	relative, name := int64(0), key.Name // another row of the same type
	err = c.Query("SELECT id, name, version FROM busgen_types WHERE written = ?", func(s *sqlite3.Stmt) error {
		relative, name = s.ColumnInt64(0), s.ColumnText(1)
		if s.ColumnInt(2) == key.Version {
			typeID = relative
		}
		return nil
	}, key.Name)
	if base, dead := strings.CutPrefix(key.Name, engine.DeadType("")); err == nil && dead && relative == 0 {
		relative, name, err = noticeType(c, base)
	}
	if err != nil || typeID != 0 {
		return typeID, err
	}
	if err := c.Exec("INSERT INTO busgen_types (name, written, version) VALUES (?, ?, ?)", name, key.Name, key.Version); err != nil {
		return 0, err
	}
	typeID = c.LastInsertRowID()
	if relative != 0 {
		return typeID, c.Exec("INSERT INTO busgen_routes (type, subscription, former) SELECT ?, subscription, former FROM busgen_routes WHERE type = ?", typeID, relative)
	}
	subscriptions, err := tables.IdsWhere(c, "SELECT id, pattern FROM busgen_subscriptions", func(pattern string) (bool, error) {
		return typenames.Matches(pattern, key.Name)
	})
	if err != nil {
		return 0, err
	}
	for _, subscription := range subscriptions {
		if err := c.Exec("INSERT INTO busgen_routes (type, subscription) VALUES (?, ?)", typeID, subscription); err != nil {
			return 0, err
		}
	}
	return typeID, nil
}

// noticeType returns the name that the type of the dead-letter notices of a type has
// today, and a row of it; 0 if there is none.
func noticeType(c *database.Conn, base string) (typeID int64, name string, err error) {
	name = engine.DeadType(base)
	err = c.Query("SELECT name FROM busgen_types WHERE written = ? LIMIT 1", func(s *sqlite3.Stmt) error {
		name = engine.DeadType(s.ColumnText(0))
		return nil
	}, base)
	if err != nil {
		return 0, name, err
	}
	typeID, err = c.Int64("SELECT max(id) FROM busgen_types WHERE name = ?", name)
	return typeID, name, err
}

// readSchemas returns the schemas that the file has, by the number of their type.
func readSchemas(c *database.Conn) (map[int64]event.Schema, error) {
	stored := map[int64]event.Schema{}
	err := c.Query("SELECT type, schema, stored_at, program FROM busgen_schemas", func(s *sqlite3.Stmt) error {
		stored[s.ColumnInt64(0)] = event.Schema{Text: s.ColumnText(1), StoredAt: database.Time(s, 2), Program: s.ColumnText(3)}
		return nil
	})
	return stored, err
}

// changedSchemas returns the schemas that the file has in another form or not at all, by
// the number of their type. Types that have no row yet are left out.
func changedSchemas(rows []typenames.Row, stored map[int64]event.Schema, specs []engine.TypeSpec) map[int64]string {
	ids := map[typenames.Key]int64{}
	for _, row := range rows {
		ids[typenames.Key{Name: row.Written, Version: row.Version}] = row.ID
	}
	changed := map[int64]string{}
	for _, spec := range specs {
		id := ids[typenames.Key{Name: spec.Name, Version: max(spec.Version, 1)}]
		if id != 0 && spec.Schema != "" && stored[id].Text != spec.Schema {
			changed[id] = spec.Schema
		}
	}
	return changed
}

// readFitting returns the types of the file and their schemas, or an error if it has events whose payload is another one
// than the program's.
func readFitting(c *database.Conn, specs []engine.TypeSpec) ([]typenames.Row, map[int64]event.Schema, error) {
	rows, err := tables.TypeRows(c)
	if err != nil {
		return nil, nil, err
	}
	stored, err := readSchemas(c)
	if err != nil {
		return nil, nil, err
	}
	return rows, stored, fitting(c, rows, stored, specs)
}

// fitting is the rule of readFitting.
func fitting(c *database.Conn, rows []typenames.Row, stored map[int64]event.Schema, specs []engine.TypeSpec) error {
	for _, row := range rows {
		schema, ok := stored[row.ID]
		if !ok {
			continue
		}
		schema.Version = row.Version
		if unfit := engine.Unfit(specs, row.Written, schema); unfit != nil {
			if err := c.Query("SELECT 1 FROM busgen_log WHERE type = ? LIMIT 1", func(*sqlite3.Stmt) error { return unfit }, row.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// storeSchemas writes what has changed.
func storeSchemas(c *database.Conn, changed map[int64]string, program string) error {
	for id, schema := range changed {
		err := c.Exec("INSERT OR REPLACE INTO busgen_schemas (type, schema, stored_at, program) VALUES (?, ?, ?, ?)", id, schema, time.Now(), program)
		if err != nil {
			return err
		}
	}
	return nil
}

// Schema implements [engine.DeadLetterReader].
func (i *Inspection) Schema(ctx context.Context, eventType string) (schema event.Schema, err error) {
	err = i.look(ctx, "read a schema of", func(c *database.Conn) error {
		return c.Query(`
			SELECT t.version, s.schema, s.stored_at, s.program FROM busgen_types t LEFT JOIN busgen_schemas s ON s.type = t.id
			WHERE t.name = (SELECT name FROM busgen_types WHERE written = ? LIMIT 1)
			ORDER BY s.type IS NULL, t.version DESC, s.stored_at DESC LIMIT 1`, func(s *sqlite3.Stmt) error {
			schema = event.Schema{Version: s.ColumnInt(0), Text: s.ColumnText(1), StoredAt: database.Time(s, 2), Program: s.ColumnText(3)}
			return nil
		}, eventType)
	})
	return schema, err
}
