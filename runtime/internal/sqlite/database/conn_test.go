package database

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

func TestAStatementIsNotRunWithTheValuesOfTheLastExecution(t *testing.T) {
	c, err := Connect(filepath.Join(t.TempDir(), "x.db"), "", sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	must(t, err)
	defer c.Close()
	must(t, c.Exec("CREATE TABLE things (a, b)"))
	const insert = "INSERT INTO things (a, b) VALUES (?, ?)"
	must(t, c.Exec(insert, 1, 2))
	for _, args := range [][]any{{}, {3}, {3, 4, 5}} {
		if err := c.Exec(insert, args...); err == nil || !strings.Contains(err.Error(), "a statement with 2 parameters is given") {
			t.Errorf("%d values: %v", len(args), err)
		}
	}
	n, err := c.Int64("SELECT sum(a + b + ?1 + ?1 + ?2) FROM things", 10, 100)
	if must(t, err); n != 123 {
		t.Errorf("the sum is %d, want 123", n)
	}
	var value any = int64(1)
	args := []any{value, value}
	if n := testing.AllocsPerRun(100, func() { c.Query("SELECT ?, ?", nil, args...) }); n > 0 {
		t.Errorf("a statement makes %v allocations", n)
	}
}
