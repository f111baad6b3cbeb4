package inspect_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

// query runs SQL on the file and returns its rows as text, columns joined by |.
func query(t *testing.T, path, sql string) (rows []string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	Must(t, err)
	defer c.Close()
	Must(t, c.Exec("PRAGMA foreign_keys=OFF")) // it may be told to do damage
	s, _, err := c.Prepare(sql)
	Must(t, err)
	defer s.Close()
	for s.Step() {
		row := s.ColumnText(0)
		for i := 1; i < s.ColumnCount(); i++ {
			row += "|" + s.ColumnText(i)
		}
		rows = append(rows, row)
	}
	Must(t, s.Err())
	return rows
}

type uuidOf = uuid.UUID
