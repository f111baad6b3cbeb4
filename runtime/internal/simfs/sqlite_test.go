package simfs_test

import (
	"errors"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/simfs"
)

func connect(t *testing.T, fs *simfs.FS) *sqlite3.Conn {
	t.Helper()
	c, err := sqlite3.Open("file:test.db?vfs=" + fs.Name())
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func count(t *testing.T, c *sqlite3.Conn) int {
	t.Helper()
	s, _, err := c.Prepare("SELECT count(*) FROM t")
	must(t, err)
	defer s.Close()
	s.Step()
	must(t, s.Err())
	return s.ColumnInt(0)
}

func TestConnectionsShareADatabase(t *testing.T) {
	for _, mode := range []string{"wal", "delete"} {
		t.Run(mode, func(t *testing.T) {
			fs := newFS(t, nil)
			a, b := connect(t, fs), connect(t, fs)
			must(t, a.Exec("PRAGMA journal_mode="+mode+"; CREATE TABLE t (x); INSERT INTO t VALUES (1)"))
			if n := count(t, b); n != 1 {
				t.Errorf("the other connection sees %d rows, want 1", n)
			}
			must(t, a.Exec("BEGIN IMMEDIATE; INSERT INTO t VALUES (2)"))
			if err := b.Exec("BEGIN IMMEDIATE"); !errors.Is(err, sqlite3.BUSY) {
				t.Errorf("a second writer got %v, want SQLITE_BUSY", err)
			}
			if n := count(t, b); n != 1 {
				t.Errorf("the other connection sees %d rows of an open transaction, want 1", n)
			}
			must(t, a.Exec("COMMIT"))
			must(t, b.Exec("INSERT INTO t VALUES (3)"))
			if n := count(t, a); n != 3 {
				t.Errorf("the first connection sees %d rows, want 3", n)
			}
		})
	}
}

func TestACommitThatWasSyncedSurvivesAndOneThatWasNotMay(t *testing.T) {
	fs := newFS(t, nil)
	c := connect(t, fs)
	must(t, c.Exec("PRAGMA journal_mode=wal; PRAGMA synchronous=FULL; CREATE TABLE t (x); INSERT INTO t VALUES (1)"))
	must(t, c.Exec("PRAGMA synchronous=NORMAL; INSERT INTO t VALUES (2)"))
	found := map[int]bool{}
	for seed := range uint64(40) {
		found[count(t, connect(t, newFS(t, fs.Crash(seed))))] = true
	}
	if !found[1] || !found[2] || len(found) != 2 {
		t.Errorf("after power cuts there were %v rows", found)
	}
}
