package inspect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

// query returns the first row of the file, its columns separated by |.
func queryRow(t *testing.T, path, sql string) string {
	t.Helper()
	c, err := sqlite3.Open(path)
	Must(t, err)
	defer c.Close()
	Must(t, c.BusyTimeout(time.Second))
	s, _, err := c.Prepare(sql)
	Must(t, err)
	defer s.Close()
	var columns []string
	if s.Step() {
		for i := range s.ColumnCount() {
			columns = append(columns, s.ColumnText(i))
		}
	}
	Must(t, s.Err())
	return strings.Join(columns, "|")
}

// execute changes the file as another program would.
func execute(t *testing.T, path, sql string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	Must(t, err)
	defer c.Close()
	Must(t, c.BusyTimeout(time.Second))
	Must(t, c.Exec(sql))
}
