package sqlite

import (
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// readSchemas returns the schemas that the file has, by the number of their type.
func readSchemas(c *database.Conn) (map[int64]engine.Schema, error) {
	stored := map[int64]engine.Schema{}
	err := c.Query("SELECT type, schema, stored_at, program FROM busgen_schemas", func(s *sqlite3.Stmt) error {
		stored[s.ColumnInt64(0)] = engine.Schema{Text: s.ColumnText(1), StoredAt: database.Time(s, 2), Program: s.ColumnText(3)}
		return nil
	})
	return stored, err
}

// changedSchemas returns the schemas that the file has in another form or not at all, by
// the number of their type. Types that have no row yet are left out.
func changedSchemas(rows []typenames.Row, stored map[int64]engine.Schema, specs []engine.TypeSpec) map[int64]string {
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
func readFitting(c *database.Conn, specs []engine.TypeSpec) ([]typenames.Row, map[int64]engine.Schema, error) {
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
func fitting(c *database.Conn, rows []typenames.Row, stored map[int64]engine.Schema, specs []engine.TypeSpec) error {
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

// newestSchemas reads the schemas of the newest versions, by all names of their types.
func newestSchemas(c *database.Conn) (map[string]engine.Schema, error) {
	newest, all := map[string]engine.Schema{}, map[string]engine.Schema{}
	err := c.Query(`
		SELECT t.name, t.version, s.schema, s.stored_at, s.program FROM busgen_schemas s JOIN busgen_types t ON t.id = s.type
		ORDER BY t.version, s.stored_at`, func(s *sqlite3.Stmt) error {
		newest[s.ColumnText(0)] = engine.Schema{Version: s.ColumnInt(1), Text: s.ColumnText(2), StoredAt: database.Time(s, 3), Program: s.ColumnText(4)}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, c.Query("SELECT name, written FROM busgen_types", func(s *sqlite3.Stmt) error {
		if schema, ok := newest[s.ColumnText(0)]; ok {
			all[s.ColumnText(0)], all[s.ColumnText(1)] = schema, schema
		}
		return nil
	})
}
