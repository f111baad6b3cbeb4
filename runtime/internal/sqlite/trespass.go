package sqlite

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/sqlapi"
)

// Some of what a program can do to the schema would spoil the bus's own work: a table that
// refers to one of the bus makes deleting old events fail, and a trigger on one can do anything. Most
// of it is refused while the statement is prepared. The rest is found when a function has changed
// the schema. Another program may have done it all, with a connection of its own.

// findTrespasses returns, in words, what in the schema is in the way of the bus.
func findTrespasses(c *database.Conn) (found []string, err error) {
	var tables []string // of the program
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	err = c.Query("SELECT type, name, tbl_name FROM sqlite_schema", func(s *sqlite3.Stmt) error {
		kind, name, table := s.ColumnText(0), s.ColumnText(1), s.ColumnText(2)
		if kind == "table" && !isOurs(name) {
			tables = append(tables, name)
		}
		switch {
		case kinds[strings.ToLower(name)] != "", strings.HasPrefix(strings.ToLower(name), labelPrefix):
		case sqlapi.Hides(name) && (kind == "table" || kind == "view"):
			add("the %s %s hides a function of SQLite that the bus uses", kind, name)
		case isOurs(name):
			add("the %s %s has a name that belongs to the bus", kind, name)
		case isOurs(table) && !strings.HasPrefix(name, "sqlite_"): // those are the indexes of constraints
			add("the %s %s is on %s, which belongs to the bus", kind, name, table)
		}
		return nil
	})
	for _, table := range tables {
		if err != nil {
			break
		}
		err = c.QueryOnce("PRAGMA foreign_key_list("+sqlite3.QuoteIdentifier(table)+")", func(s *sqlite3.Stmt) error {
			if parent := s.ColumnText(2); isOurs(parent) {
				add("the table %s refers to %s, which belongs to the bus", table, parent)
			}
			return nil
		})
	}
	return found, err
}

// trespasses are what other programs had done to the schema before.
type trespasses []string

// check returns an error if the schema, which a function of the program has changed, is now in
// the way of the bus. What other programs did before is not the fault of the function.
func (w *writer) trespass() error { return w.trespasses.check(w.conn) }

func (t *trespasses) check(c *database.Conn) error {
	found, err := findTrespasses(c)
	if err != nil {
		return err
	}
	for _, problem := range found {
		if !slices.Contains(*t, problem) {
			return &engine.ProtectedError{Problem: problem +
				": choose another name, and refer to what belongs to the bus with a column without REFERENCES"}
		}
	}
	return nil
}

// learn looks for what other programs have done, and tells the logger.
func (t *trespasses) learn(c *database.Conn, logger *slog.Logger) (err error) {
	*t, err = findTrespasses(c)
	for _, problem := range *t {
		logger.Warn("the schema of the file has something of another program that can make the bus fail", "path", c.Path, "problem", problem)
	}
	return err
}
