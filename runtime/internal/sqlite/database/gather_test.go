package database

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

func TestACommitIsWrittenToTheLogAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		full   bool
		bytes  int // of the row
		writes func(n int) bool
	}{
		"with one call":                     {full: true, bytes: 100_000, writes: func(n int) bool { return n == 1 }},
		"or few if it is large":             {full: true, bytes: 1_000_000, writes: func(n int) bool { return n == 4 }},
		"but not without a sync at the end": {full: false, bytes: 100_000, writes: func(n int) bool { return n > 40 }},
	} {
		t.Run(name, func(t *testing.T) {
			c, log := withLog(t, t.TempDir())
			must(t, c.Transaction(test.full, func() error { return c.Exec("INSERT INTO t VALUES (1)") })) // the log has its head
			log.writes = nil
			must(t, c.Transaction(test.full, func() error { return c.Exec("INSERT INTO t VALUES (zeroblob(?))", test.bytes) }))
			if !test.writes(len(log.writes)) {
				t.Errorf("%d writes: %v", len(log.writes), log.writes)
			}
			other, err := Connect(c.Path, "", sqlite3.OPEN_READWRITE)
			must(t, err)
			defer other.Close()
			if n, err := other.Int64("SELECT length(x) FROM t WHERE x <> 1"); err != nil || int(n) != test.bytes {
				t.Errorf("another connection reads %d bytes, %v; want %d", n, err, test.bytes)
			}
		})
	}
}

func TestTheHeadOfALogIsOnTheDiskBeforeWhatFollows(t *testing.T) {
	c, log := withLog(t, t.TempDir())
	add := func() error { return c.Exec("INSERT INTO t VALUES (1)") }
	must(t, c.Transaction(true, add))
	_, _, err := c.WALCheckpoint("main", sqlite3.CHECKPOINT_RESTART)
	must(t, err)
	log.calls = nil
	must(t, c.Transaction(true, add))
	if want := []string{"write", "sync", "write", "sync"}; !slices.Equal(log.calls, want) {
		t.Errorf("the log is used so: %v, want %v", log.calls, want)
	}
}

func TestACommitThatCannotBeWrittenLeavesNothing(t *testing.T) {
	c, log := withLog(t, t.TempDir())
	add := func() error { return c.Exec("INSERT INTO t VALUES (zeroblob(10000))") }
	must(t, c.Transaction(true, add))
	log.fails = true
	if err := c.Transaction(true, add); !errors.Is(err, sqlite3.FULL) {
		t.Errorf("the error is %v, want %v", err, sqlite3.FULL)
	}
	log.fails = false
	must(t, c.Transaction(false, add)) // which has no sync
	if n, err := c.Int64("SELECT count(*) FROM t"); n != 2 || err != nil {
		t.Errorf("there are %d rows, %v; want 2", n, err)
	}
	other, err := Connect(c.Path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	defer other.Close()
	if n, err := other.Int64("SELECT count(*) FROM t"); n != 2 || err != nil {
		t.Errorf("another connection sees %d rows, %v; want 2", n, err)
	}
}

// Somebody may have changed what commits wait for.
func TestACommitWithoutItsSyncIsWrittenAllTheSame(t *testing.T) {
	c, _ := withLog(t, t.TempDir())
	must(t, c.Transaction(true, func() error { return nil }))
	must(t, c.ExecScript("PRAGMA synchronous=NORMAL"))
	must(t, c.Transaction(true, func() error { return c.Exec("INSERT INTO t VALUES (1)") }))
	other, err := Connect(c.Path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	defer other.Close()
	if n, err := other.Int64("SELECT count(*) FROM t"); n != 1 || err != nil {
		t.Errorf("another connection sees %d rows, %v; want 1", n, err)
	}
}

// Only the log of the database itself is gathered: that of another one may be synced less often.
func TestTheLogOfAnAttachedDatabaseIsNotGathered(t *testing.T) {
	folder := t.TempDir()
	c, log := withLog(t, folder)
	must(t, c.Transaction(true, func() error { return c.Exec("INSERT INTO t VALUES (1)") }))
	if err := c.ExecScript("ATTACH '" + filepath.Join(folder, "other.db") + "' AS other; PRAGMA other.journal_mode=WAL; CREATE TABLE other.t (x)"); err != nil {
		t.Skip("nothing can be attached:", err)
	}
	log.writes = nil
	add := func() error {
		return c.ExecScript("INSERT INTO t VALUES (2); INSERT INTO other.t VALUES (zeroblob(50000))")
	}
	must(t, c.Transaction(true, add))
	if len(log.writes) != 1 {
		t.Errorf("%d writes to the log of the database, want 1", len(log.writes))
	}
	other, err := Connect(filepath.Join(folder, "other.db"), "", sqlite3.OPEN_READWRITE)
	must(t, err)
	defer other.Close()
	if n, err := other.Int64("SELECT length(x) FROM t"); n != 50000 || err != nil {
		t.Errorf("the other database has %d bytes, %v; want 50000", n, err)
	}
}

// withLog returns a connection to a new database, and its write-ahead log.
func withLog(t *testing.T, folder string) (*Conn, *countedLog) {
	t.Helper()
	counting := &counting{VFS: vfs.Find("")}
	vfs.Register("counting", counting)
	t.Cleanup(func() { vfs.Unregister("counting") })
	c, err := Connect(filepath.Join(folder, "events.db"), "counting", sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	must(t, c.ExecScript("PRAGMA journal_mode=WAL; CREATE TABLE t (x)"))
	return c, counting.log
}

// counting remembers what becomes of the write-ahead log.
type counting struct {
	vfs.VFS
	log *countedLog
}

func (c *counting) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, flags, err := c.VFS.(vfs.VFSFilename).OpenFilename(name, flags)
	if err == nil && flags&vfs.OPEN_WAL != 0 && c.log == nil {
		c.log = &countedLog{File: file}
		file = c.log
	}
	return file, flags, err
}

type countedLog struct {
	vfs.File
	writes []int // sizes
	calls  []string
	fails  bool
}

func (l *countedLog) WriteAt(p []byte, off int64) (int, error) {
	if l.fails {
		return 0, sqlite3.FULL
	}
	l.writes, l.calls = append(l.writes, len(p)), append(l.calls, "write")
	return l.File.WriteAt(p, off)
}

func (l *countedLog) Sync(flags vfs.SyncFlag) error {
	l.calls = append(l.calls, "sync")
	return l.File.Sync(flags)
}
