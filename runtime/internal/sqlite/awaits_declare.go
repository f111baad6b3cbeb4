package sqlite

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// awaitedRow is a row of busgen_awaited.
type awaitedRow struct {
	id     int64
	name   string // of the type
	fields []string
	keyed  int64
}

type awaitedRows []awaitedRow

func readAwaited(c *database.Conn) (all awaitedRows, err error) {
	err = c.Query("SELECT id, type, field, keyed FROM busgen_awaited WHERE type IS NOT NULL ORDER BY id", func(s *sqlite3.Stmt) error {
		row := awaitedRow{id: s.ColumnInt64(0), name: s.ColumnText(1), keyed: s.ColumnInt64(3)}
		all = append(all, row)
		return json.Unmarshal(s.ColumnRawText(2), &all[len(all)-1].fields)
	})
	return all, err
}

// of returns the row of a type that is as a program declares it.
func (all awaitedRows) of(rows []typenames.Row, spec engine.TypeSpec) (awaitedRow, bool) {
	name := todaysName(rows, spec.Name)
	for _, row := range all {
		if row.name == name && len(spec.AwaitBy) > 0 && !slices.ContainsFunc(spec.AwaitBy, func(field string) bool { return !slices.Contains(row.fields, field) }) {
			return row, true
		}
	}
	return awaitedRow{}, false
}

// todaysName is what the file calls a type that was written under a name.
func todaysName(rows []typenames.Row, written string) string {
	for _, row := range rows {
		if row.Written == written {
			return row.Name
		}
	}
	return written
}

// misses reports whether a declared type has no row that is as it should be.
func (all awaitedRows) misses(rows []typenames.Row, specs []engine.TypeSpec) bool {
	return slices.ContainsFunc(specs, func(spec engine.TypeSpec) bool {
		_, known := all.of(rows, spec)
		return len(spec.AwaitBy) > 0 && !known
	})
}

// declareAwaited makes the rows those of declared types. before are the types that the file had, and rows those that it has. A
// type whose catalogue says await_by no more keeps its keys: another program may wait for it.
func declareAwaited(c *database.Conn, before, rows []typenames.Row, specs []engine.TypeSpec) error {
	for _, spec := range specs {
		all, err := readAwaited(c)
		if err != nil {
			return err
		}
		if _, known := all.of(rows, spec); known || len(spec.AwaitBy) == 0 {
			continue
		}
		if err := all.declare(c, before, rows, spec); err != nil {
			return err
		}
	}
	return nil
}

func (all awaitedRows) declare(c *database.Conn, before, rows []typenames.Row, spec engine.TypeSpec) error {
	name := todaysName(rows, spec.Name)
	names := typenames.All(rows)[name]
	var kept *awaitedRow // has keys of the same field
	var gone []awaitedRow
	for i, row := range all {
		if row.name != name && !slices.Contains(names, row.name) {
			continue
		}
		same := slices.ContainsFunc(spec.AwaitBy, func(field string) bool { return slices.Contains(row.fields, field) })
		if same && (kept == nil || row.name == name) {
			if kept != nil {
				gone = append(gone, *kept)
			}
			kept = &all[i]
		} else {
			gone = append(gone, row)
		}
	}
	for _, row := range gone { // their names are free
		if err := c.Exec("UPDATE busgen_awaited SET type = NULL WHERE id = ?", row.id); err != nil {
			return err
		}
	}
	fields := slices.Clone(spec.AwaitBy)
	if kept == nil {
		keyed := int64(0)
		if !slices.ContainsFunc(before, func(row typenames.Row) bool { return slices.Contains(names, row.Written) }) {
			var err error // there is no event of it
			if keyed, err = c.Int64("SELECT coalesce(max(seq), 0) FROM busgen_log"); err != nil {
				return err
			}
		}
		return c.Exec("INSERT INTO busgen_awaited (type, field, keyed) VALUES (?, ?, ?)", name, listOf(fields), keyed)
	}
	keyed := kept.keyed
	for _, field := range kept.fields {
		if !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	if len(fields) > len(kept.fields) || len(gone) > 0 {
		keyed = 0 // events that had no key may have one
	}
	for _, row := range gone {
		if !slices.ContainsFunc(fields, func(field string) bool { return slices.Contains(row.fields, field) }) {
			continue // nobody can wait by another field
		}
		if err := c.Exec("UPDATE OR REPLACE busgen_waits SET type = ? WHERE type = ?", kept.id, row.id); err != nil {
			return err
		}
	}
	return c.Exec("UPDATE busgen_awaited SET type = ?, field = ?, keyed = ? WHERE id = ?", name, listOf(fields), keyed, kept.id)
}

func listOf(fields []string) string {
	text, _ := json.Marshal(fields) // it is of texts
	return string(text)
}

// declared is told what this process has declared, also while it dispatches.
func (m *awaits) declared(specs []engine.TypeSpec) error {
	m.mu.Lock()
	for _, spec := range specs {
		m.specs = slices.DeleteFunc(m.specs, func(old engine.TypeSpec) bool { return old.Name == spec.Name })
		if len(spec.AwaitBy) > 0 {
			m.specs = append(m.specs, spec)
		}
	}
	any := len(m.specs) > 0
	m.mu.Unlock()
	if !any || !m.owns.Load() {
		return nil
	}
	<-m.writer.turn
	defer func() { m.writer.turn <- struct{}{} }()
	return m.read(m.load)
}

// sweep deletes the keys of former fields, a few at a time. Only the process that dispatches does it: else it would go on to
// write them.
func (m *awaits) sweep(ctx context.Context) error {
	for m.owns.Load() {
		id, err := valueOf(m.ground, func(c *database.Conn) (int64, error) {
			return c.Int64("SELECT coalesce(min(id), 0) FROM busgen_awaited WHERE type IS NULL")
		})
		if err != nil || id == 0 {
			return err
		}
		known := false
		err = m.writer.do(ctx, func(c *database.Conn) error {
			if known = m.ids[id] != nil; known { // it will soon notice that it is a former one
				return nil
			}
			err := c.Exec(`
				DELETE FROM busgen_event_keys WHERE (type, key, seq) IN (SELECT type, key, seq FROM busgen_event_keys WHERE type = ? LIMIT ?)`, id, pruneDelete)
			if err != nil {
				return err
			}
			if left, err := c.Int64("SELECT EXISTS (SELECT 1 FROM busgen_event_keys WHERE type = ?)", id); err != nil || left != 0 {
				return err
			}
			if err := c.Exec("DELETE FROM busgen_waits WHERE type = ?", id); err != nil {
				return err
			}
			return c.Exec("DELETE FROM busgen_awaited WHERE id = ?", id)
		})
		if err != nil || known {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
	return nil
}
