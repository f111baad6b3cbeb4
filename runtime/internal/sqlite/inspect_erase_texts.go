package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// textColumns are the columns of the log in which a person may be named, besides those of the
// events about the person, with what finds a row again. A key that names the person is
// deleted.
var textColumns = []textColumn{
	{"busgen_attempts", "error", "seq, subscription, n", ""}, {"busgen_attempts", "stack", "seq, subscription, n", ""}, {"busgen_attempts", "log", "seq, subscription, n", ""},
	{"busgen_log", "metadata", "seq", ""}, {"busgen_discarded", "reason", "seq, subscription", ""}, {"busgen_cancelled", "reason", "seq, subscription", ""},
	{"busgen_audit", "detail", "id", ""}, {"busgen_pauses", "reason", "kind, target, key", ""}, {"busgen_breakers", "last_error", "subscription, key", ""},
	{"busgen_dedupe", "key", "type, key, seq", ""}, {"busgen_limits", "key", "name, key", ""},
	{"busgen_steps", "result", stepKey, stepsSettled}, {"busgen_steps", "shape", stepKey, stepsSettled}, {"busgen_steps", "name", stepKey, stepsSettled},
	{"busgen_event_keys", "key", "type, key, seq", ""}, {"busgen_waits", "key", "type, key, subscription, seq, member, name", ""},
	{"busgen_waits", "name", "type, key, subscription, seq, member, name", ""},
}

// Of an open delivery the steps stay: its handler would do them again.
const (
	stepKey      = "seq, subscription, run, member, name"
	stepsSettled = ` AND NOT EXISTS (
	SELECT 1 FROM busgen_deliveries d WHERE d.subscription = busgen_steps.subscription AND d.seq = busgen_steps.seq AND d.state <> 'dead')`
)

// textColumn is such a column. only is a condition for the rows that are looked at.
type textColumn struct{ table, column, key, only string }

func (w textColumn) isKey() bool { return w.column == "key" }

// where finds a row by its key.
func (w textColumn) where() string {
	return " WHERE (" + w.key + ") = (" + strings.TrimSuffix(strings.Repeat("?, ", strings.Count(w.key, ",")+1), ", ") + ")"
}

// clean returns a text of the column without the person, and whether that is another text.
func (e *eraser) clean(w textColumn, text string) (string, bool) {
	switch {
	case w.isKey():
		return text, e.spec.Key(text)
	case w.column == "metadata":
		return e.spec.MetadataText(text)
	}
	return e.spec.Text(text)
}

// texts erases the person from all other texts.
func (e *eraser) texts(ctx context.Context) error {
	for _, w := range textColumns {
		rows, parts, err := e.named(ctx, w)
		if err != nil {
			return err
		}
		e.n.Parts += parts
		for step := range slices.Chunk(rows, eraseStep) {
			n := len(step)
			if !e.spec.DryRun {
				err := e.wipe(ctx, func(c *database.Conn) error {
					n = 0
					for _, key := range step {
						changed, err := e.cleanRow(c, w, key)
						if err != nil {
							return err
						}
						n += changed
					}
					return e.action.add(c, n)
				})
				if err != nil {
					return err
				}
				e.action.committed()
			}
			e.n.Texts += n
			e.told()
		}
	}
	if e.spec.DryRun {
		return nil
	}
	return e.wipe(ctx, forgetSamples)
}

// named returns the keys of the rows that name the person, and how many others have one of the
// values as a part of a longer name.
func (e *eraser) named(ctx context.Context, w textColumn) (rows [][]any, parts int, err error) {
	keys := strings.Split(w.key, ", ")
	err = e.look(ctx, "look for a person in", func(c *database.Conn) error {
		rows, parts = nil, 0
		return c.Query("SELECT "+w.column+", "+w.key+" FROM "+w.table+" WHERE "+w.column+" IS NOT NULL"+w.only, func(s *sqlite3.Stmt) error {
			for n, name := range keys {
				if name == "seq" && e.spec.DryRun && e.passed[s.ColumnInt64(n+1)] {
					return nil // it is one of an event that is erased as a whole
				}
			}
			clean, changed := e.clean(w, s.ColumnText(0))
			if (!changed || !w.isKey()) && e.spec.Part(clean) {
				parts++
			}
			if !changed {
				return nil
			}
			var key []any
			for n := range keys {
				if s.ColumnType(n+1) == sqlite3.INTEGER {
					key = append(key, s.ColumnInt64(n+1))
				} else {
					key = append(key, s.ColumnText(n+1))
				}
			}
			rows = append(rows, key)
			return nil
		})
	})
	return rows, parts, err
}

// cleanRow erases the person from one row, as it is now, and returns how many rows it has
// changed.
func (e *eraser) cleanRow(c *database.Conn, w textColumn, key []any) (changed int, err error) {
	if w.isKey() {
		err = c.Exec("DELETE FROM "+w.table+w.where(), key...)
		return int(c.Changes()), err
	}
	var clean string
	err = c.Query("SELECT "+w.column+" FROM "+w.table+w.where()+" AND "+w.column+" IS NOT NULL"+w.only, func(s *sqlite3.Stmt) error {
		if text, other := e.clean(w, s.ColumnText(0)); other {
			clean, changed = text, 1
		}
		return nil
	}, key...)
	if err != nil || changed == 0 {
		return 0, err
	}
	return 1, c.Exec("UPDATE OR REPLACE "+w.table+" SET "+w.column+" = ?"+w.where(), append([]any{clean}, key...)...)
}

// forgetSamples deletes what ANALYZE of another program has copied from the indexes of the
// bus: whole keys. SQLite plans without them.
func forgetSamples(c *database.Conn) error {
	for _, table := range []string{"sqlite_stat3", "sqlite_stat4"} {
		there, err := c.Int64("SELECT count(*) FROM sqlite_schema WHERE name = ?", table)
		if err == nil && there > 0 {
			err = c.Exec("DELETE FROM " + table + " WHERE tbl LIKE 'busgen%'")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// scrub rewrites the file, so that nothing is left in the space that it does not use, and
// empties the write-ahead log.
func (i *Inspection) scrub(ctx context.Context) error {
	const op = "rewrite"
	err := i.run(ctx, op, i.Writing, func(c *database.Conn) error {
		if _, err := c.Int64("PRAGMA secure_delete=ON"); err != nil {
			return err
		}
		if err := c.ExecScript("PRAGMA temp_store=MEMORY; VACUUM"); err != nil { // no copy in a temporary file
			return fault.Wrap(op, c.Path, err)
		}
		return c.Checkpoint(sqlite3.CHECKPOINT_TRUNCATE)
	}, nil)
	if err != nil {
		return fmt.Errorf("everything is erased, but it may still be readable in unused space: %w; Erasure.KeepSpace (--keep-space) does not rewrite the file", err)
	}
	return nil
}
