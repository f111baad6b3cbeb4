package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// A file whose events move to another engine has a label: a table with one row, and triggers
// that refuse every change of what moves, whichever process tries it. Bus and publishers learn
// from them where the events are.

// labelPrefix begins the names of the label. They are not part of the schema.
const labelPrefix = "busgen_moved"

// label is the row.
type label struct {
	To    string
	Began time.Time
	Done  time.Time // zero while the events move
}

// readLabel returns the label of a file, or nil.
func readLabel(c *database.Conn) (m *label, err error) {
	marked, err := c.Int64("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '" + labelPrefix + "'")
	if err != nil || marked == 0 {
		return nil, err
	}
	// The statement is not kept: the table can come and go.
	err = c.QueryOnce("SELECT target, began_at, coalesce(done_at, 0) FROM "+labelPrefix+" LIMIT 1", func(s *sqlite3.Stmt) error {
		m = &label{To: s.ColumnText(0), Began: database.Time(s, 1)}
		if s.ColumnInt64(2) != 0 {
			m.Done = database.Time(s, 2)
		}
		return nil
	})
	return m, err
}

// refuseLabelled returns an error if the file has a label.
func refuseLabelled(c *database.Conn) error {
	m, err := readLabel(c)
	if err != nil || m == nil {
		return err
	}
	return m.refusal(c.Path, "open")
}

// refusal is the error of a bus that opens the file.
func (m *label) refusal(path, op string) error {
	back := commandline.Of("move", []string{"--take-back"}, path)
	hint := fmt.Sprintf("its events are on %s since %s: open that bus, or make this file one of a bus again, as it was before, with: %s",
		m.To, m.Done.Format(time.RFC3339), back)
	if m.Done.IsZero() {
		hint = fmt.Sprintf("its events are on their way to %s: go on with: %s; or give up with: %s", m.To, commandline.Of("move", nil, path, m.To), back)
	}
	return &event.StorageError{Fault: event.MovedAway, Op: op, Path: path, Hint: hint}
}

// guarded are the tables that nothing changes any more, and what is refused.
var guarded = []struct{ table, changes string }{
	{"busgen_log", "INSERT DELETE"},
	{"busgen_deliveries", "INSERT UPDATE DELETE"},
	{"busgen_subscriptions", "INSERT UPDATE DELETE"},
	{"busgen_types", "INSERT UPDATE DELETE"},
	{"busgen_pauses", "INSERT UPDATE DELETE"},
	{"busgen_schedules", "INSERT UPDATE DELETE"},
	{"busgen_cancelled", "INSERT UPDATE DELETE"},
	{"busgen_dedupe", "INSERT UPDATE"},
}

// setLabel marks the file, within a transaction.
func setLabel(c *database.Conn, to string) error {
	if err := c.ExecScript("CREATE TABLE " + labelPrefix + " (target TEXT NOT NULL, began_at INTEGER NOT NULL, done_at INTEGER)"); err != nil {
		return err
	}
	if err := c.Exec("INSERT INTO "+labelPrefix+" (target, began_at) VALUES (?, ?)", to, time.Now()); err != nil {
		return err
	}
	text := strings.ReplaceAll("the events of this file were moved to "+to, "'", "''")
	for _, g := range guarded {
		for change := range strings.FieldsSeq(g.changes) {
			err := c.ExecScript(fmt.Sprintf("CREATE TRIGGER %s_%s_%s BEFORE %s ON %s BEGIN SELECT RAISE(ABORT, '%s'); END",
				labelPrefix, strings.TrimPrefix(g.table, "busgen_"), strings.ToLower(change), change, g.table, text))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// finishLabel says that everything has moved, within a transaction.
func finishLabel(c *database.Conn) error {
	return c.ExecScript(fmt.Sprintf("UPDATE %s SET done_at = %d WHERE done_at IS NULL", labelPrefix, time.Now().UnixMicro()))
}

// removeLabel takes the label away, within a transaction.
func removeLabel(c *database.Conn) error {
	var names []string
	err := c.Query("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '"+labelPrefix+"\\_%' ESCAPE '\\'", func(s *sqlite3.Stmt) error {
		names = append(names, s.ColumnText(0))
		return nil
	})
	for _, name := range names {
		err = errors.Join(err, c.ExecScript("DROP TRIGGER "+name))
	}
	return errors.Join(err, c.ExecScript("DROP TABLE IF EXISTS "+labelPrefix))
}
