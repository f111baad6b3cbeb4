package database

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/file"
)

// What is read stays the same while nobody commits, and changes with each commit of any connection.
func TestTheHeadOfTheIndexChangesWithEachCommitAndWithNothingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	ours, err := Connect(path, "", sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	must(t, err)
	defer ours.Close()
	must(t, ours.ExecScript("PRAGMA journal_mode=WAL; CREATE TABLE t (x)"))
	others, err := Connect(path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	defer others.Close()
	head := MapIndexHead(path)
	if head == nil {
		t.Skip("here the index cannot be mapped")
	}
	defer head.Close()

	before := head.Read()
	if before == (Head{}) {
		t.Fatal("there is a log, and the head of its index is empty")
	}
	for n := range 3 {
		for name, c := range map[string]*Conn{"ours": ours, "others": others} {
			must(t, c.Exec("INSERT INTO t VALUES (1)"))
			now := head.Read()
			if now == before {
				t.Errorf("commit %d of %s does not change the head", n, name)
			}
			before = now
			for range 2 {
				_, err := c.Int64("SELECT count(*) FROM t")
				must(t, err)
			}
			must(t, c.ExecScript("BEGIN IMMEDIATE; INSERT INTO t VALUES (2); ROLLBACK"))
			if head.Read() != before {
				t.Errorf("reading and rolling back of %s changes the head", name)
			}
		}
	}
}

// Without care the process would die of it.
func TestTheHeadOfAnIndexThatWasCutCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	c, err := Connect(path, "", sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	must(t, err)
	must(t, c.ExecScript("PRAGMA journal_mode=WAL; CREATE TABLE t (x)"))
	head := MapIndexHead(path)
	if head == nil {
		t.Skip("here the index cannot be mapped")
	}
	defer head.Close()
	must(t, os.Rename(path+file.IndexSuffix, path+".index")) // SQLite must not use it any more
	index, err := os.OpenFile(path+".index", os.O_RDWR, 0)
	must(t, err)
	defer index.Close()
	size, err := index.Stat()
	must(t, err)
	must(t, index.Truncate(0))
	if head.Read() != (Head{}) {
		t.Error("it can be read")
	}
	must(t, index.Truncate(size.Size())) // for SQLite's own mapping
	must(t, c.Close())
	must(t, os.WriteFile(path+file.IndexSuffix, make([]byte, 32<<10), 0o600))
	if MapIndexHead(path) != nil {
		t.Error("an index that nobody uses is mapped")
	}
}

func TestWhatIsNotMappedHasNoHead(t *testing.T) {
	var head *IndexHead
	if head.Read() != (Head{}) {
		t.Error("it has one")
	}
	must(t, head.Close())
}
