package sqlite

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// orphans returns an error if a row of the program's tables refers to one that is missing.
func orphans(c *database.Conn) error {
	var tables []string
	err := c.Query("SELECT name FROM sqlite_schema WHERE type = 'table'", func(s *sqlite3.Stmt) error {
		if name := s.ColumnText(0); !isOurs(name) {
			tables = append(tables, name)
		}
		return nil
	})
	for _, table := range tables {
		if err != nil {
			return err
		}
		err = orphansOf(c, table)
	}
	return err
}

func orphansOf(c *database.Conn, table string) error {
	first, parent, n := "", "", 0
	err := c.QueryOnce("PRAGMA foreign_key_check("+sqlite3.QuoteIdentifier(table)+")", func(s *sqlite3.Stmt) error {
		if n++; n > 1 {
			return nil
		}
		first, parent = "a row", s.ColumnText(2)
		if s.ColumnType(1) != sqlite3.NULL { // which it is for a table without rowids
			first = "row " + s.ColumnText(1)
		}
		return nil
	})
	switch {
	case err != nil || n == 0:
		return err
	case n > 1:
		first += fmt.Sprintf(" and %d others", n-1)
	}
	return fmt.Errorf("%s of %s would refer to rows of %s that are missing (FOREIGN KEY constraint failed): delete or correct them in the migration", first, table, parent)
}
