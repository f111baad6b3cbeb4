package systest

import (
	"errors"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// queryFile returns the first column of the first row of a query.
func queryFile(t *testing.T, path, query string) string {
	t.Helper()
	c, err := sqlite3.Open(path)
	Must(t, err)
	defer c.Close()
	Must(t, c.BusyTimeout(time.Second))
	s, _, err := c.Prepare(query)
	Must(t, err)
	defer s.Close()
	text := ""
	if s.Step() {
		text = s.ColumnText(0)
	}
	Must(t, s.Err())
	return text
}

// execFile changes the file at path behind the back of the bus.
func execFile(path, statements string) error {
	c, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	defer c.Close()
	return errors.Join(c.BusyTimeout(time.Second), c.Exec(statements))
}
