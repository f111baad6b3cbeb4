package sqlite

import (
	"context"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

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
	rows, err := typeRows(c)
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
			SELECT t.version, s.schema, s.stored_at, s.program FROM busgen_schemas s JOIN busgen_types t ON t.id = s.type
			WHERE t.name = (SELECT name FROM busgen_types WHERE written = ? LIMIT 1)
			ORDER BY t.version DESC, s.stored_at DESC LIMIT 1`, func(s *sqlite3.Stmt) error {
			schema = event.Schema{Version: s.ColumnInt(0), Text: s.ColumnText(1), StoredAt: database.Time(s, 2), Program: s.ColumnText(3)}
			return nil
		}, eventType)
	})
	return schema, err
}
