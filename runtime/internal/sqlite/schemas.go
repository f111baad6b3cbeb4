package sqlite

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// changedSchemas returns the schemas that the file has in another form or not at all, by
// the number of their type. Types that have no row yet are left out.
func changedSchemas(c *database.Conn, rows []typenames.Row, specs []engine.TypeSpec) (map[int64]string, error) {
	ids := map[typenames.Key]int64{}
	for _, row := range rows {
		ids[typenames.Key{Name: row.Written, Version: row.Version}] = row.ID
	}
	changed := map[int64]string{}
	for _, spec := range specs {
		if id := ids[typenames.Key{Name: spec.Name, Version: max(spec.Version, 1)}]; id != 0 && spec.Schema != "" {
			changed[id] = spec.Schema
		}
	}
	err := c.Query("SELECT type, schema FROM busgen_schemas", func(s *sqlite3.Stmt) error {
		if id := s.ColumnInt64(0); changed[id] == s.ColumnText(1) {
			delete(changed, id)
		}
		return nil
	})
	return changed, err
}

// fitting returns an error if the file has events whose payload is another one than the program's.
func fitting(c *database.Conn, specs []engine.TypeSpec) error {
	unfit := map[int64]error{} // by the number of the type
	err := c.Query("SELECT s.type, t.written, t.version, s.schema, s.stored_at, s.program FROM busgen_schemas s JOIN busgen_types t ON t.id = s.type", func(s *sqlite3.Stmt) error {
		stored := engine.Schema{Version: s.ColumnInt(2), Text: s.ColumnText(3), StoredAt: database.Time(s, 4), Program: s.ColumnText(5)}
		if err := engine.Unfit(specs, s.ColumnText(1), stored); err != nil {
			unfit[s.ColumnInt64(0)] = err
		}
		return nil
	})
	for _, id := range slices.Sorted(maps.Keys(unfit)) {
		if err != nil {
			break
		}
		err = c.Query("SELECT 1 FROM busgen_log WHERE type = ? LIMIT 1", func(*sqlite3.Stmt) error { return unfit[id] }, id)
	}
	return err
}

// storeSchemas writes what has changed, after declareTypes.
func storeSchemas(c *database.Conn, specs []engine.TypeSpec, program string) error {
	rows, err := typeRows(c)
	if err != nil {
		return err
	}
	changed, err := changedSchemas(c, rows, specs)
	if err != nil {
		return err
	}
	for id, schema := range changed {
		err := c.Exec("INSERT OR REPLACE INTO busgen_schemas (type, schema, stored_at, program) VALUES (?, ?, ?, ?)", id, schema, time.Now(), program)
		if err != nil {
			return err
		}
	}
	return nil
}

// Schema implements [engine.DeadLetterReader].
func (i *Inspection) Schema(ctx context.Context, eventType string) (schema engine.Schema, err error) {
	err = i.look(ctx, "read a schema of", func(c *database.Conn) error {
		return c.Query(`
			SELECT t.version, s.schema, s.stored_at, s.program FROM busgen_schemas s JOIN busgen_types t ON t.id = s.type
			WHERE t.name = (SELECT name FROM busgen_types WHERE written = ? LIMIT 1)
			ORDER BY t.version DESC, s.stored_at DESC LIMIT 1`, func(s *sqlite3.Stmt) error {
			schema = engine.Schema{Version: s.ColumnInt(0), Text: s.ColumnText(1), StoredAt: database.Time(s, 2), Program: s.ColumnText(3)}
			return nil
		}, eventType)
	})
	return schema, err
}
