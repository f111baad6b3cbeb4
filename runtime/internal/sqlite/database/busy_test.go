package database

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"
)

func connectTo(t *testing.T, path string) *Conn {
	t.Helper()
	c, err := Connect(path, "", sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// A publisher beside an operator waits for the lock of a step, and not for much longer.
func TestALockThatIsGivenBackSoonIsTakenSoon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	holder, waiter := connectTo(t, path), connectTo(t, path)
	for _, held := range []time.Duration{time.Millisecond, 15 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			must(t, holder.Begin(false))
			go func() {
				time.Sleep(held)
				must(t, holder.Finish(func() error { return nil }))
			}()
			began := time.Now()
			must(t, waiter.Begin(false))
			if late := time.Since(began) - held; late > often {
				t.Errorf("a lock that was held for %v was taken %v after its end, want at most %v", held, late, often)
			}
			must(t, waiter.Finish(func() error { return nil }))
		})
	}
}

func TestALockThatIsNotGivenBackIsWaitedForUntilTheTimeout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	holder, waiter := connectTo(t, path), connectTo(t, path)
	synctest.Test(t, func(t *testing.T) {
		must(t, holder.Begin(false))
		began := time.Now()
		if waiter.TryBegin(false) || time.Since(began) > 0 {
			t.Errorf("TryBegin waited %v", time.Since(began))
		}
		err := waiter.Begin(false)
		if waited := time.Since(began); err == nil || waited < BusyTimeout || waited > BusyTimeout+lessOften {
			t.Errorf("after %v: %v, want an error after %v", waited, err, BusyTimeout)
		}
		must(t, holder.Finish(func() error { return nil }))
	})
}

// SQLite would compile a statement again whose LIMIT, or whose range, has another value than before.
func TestAStatementIsNotCompiledAgainForOtherValues(t *testing.T) {
	c := connectTo(t, filepath.Join(t.TempDir(), "x.db"))
	must(t, c.Exec("CREATE TABLE things (a INTEGER PRIMARY KEY, b)"))
	const page = "SELECT a FROM things WHERE a >= ? ORDER BY a LIMIT ?"
	for i := range 10 {
		must(t, c.Query(page, nil, i, 100+i))
	}
	s, err := c.Stmt(page)
	must(t, err)
	if n := s.Status(sqlite3.STMTSTATUS_REPREPARE, false); n != 0 {
		t.Errorf("it was compiled %d times again", n)
	}
}
