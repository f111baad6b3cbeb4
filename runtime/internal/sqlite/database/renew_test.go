package database

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

func TestAConnectionWhoseMemoryIsInPiecesIsRenewed(t *testing.T) {
	defer func(before int64) { BusMemory = before }(BusMemory)
	BusMemory = 64 << 20
	c, err := Connect(filepath.Join(t.TempDir(), "shop.db"), "", sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, sql := range []string{"PRAGMA journal_mode=WAL", "PRAGMA journal_size_limit=12345", "CREATE TABLE large (value TEXT)"} {
		if err := c.ExecScript(sql); err != nil {
			t.Fatal(err)
		}
	}
	insert := func() error { return c.Exec("INSERT INTO large VALUES (?)", strings.Repeat("x", 20<<20)) }
	err = c.Transaction(true, func() error {
		if err := c.Renew(); err == nil {
			t.Error("it was renewed in a transaction")
		}
		for range 20 {
			if err := insert(); err != nil {
				return err
			}
		}
		return nil
	})
	if !errors.Is(err, fault.ErrNoMemory) {
		t.Fatalf("there is no want of memory: %v", err)
	}
	if err := c.Renew(); err != nil {
		t.Fatal(err)
	}
	if err := c.Transaction(true, insert); err != nil {
		t.Error(err)
	}
	for pragma, want := range map[string]int64{"synchronous": 2, "journal_size_limit": 12345, "query_only": 0} {
		if got, err := c.Int64("PRAGMA " + pragma); got != want || err != nil {
			t.Errorf("%s is %d, want %d (%v)", pragma, got, want, err)
		}
	}
	if err := c.Exec("CREATE TABLE small (n)"); err != nil { // after the log was emptied, as it is when it is long
		t.Error(err)
	}
	if c.PagesInWAL() == 0 {
		t.Error("nobody is told how long the write-ahead log is")
	}
}
