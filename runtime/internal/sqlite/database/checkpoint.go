package database

import (
	"errors"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// SQLite appends each commit to the write-ahead log. A checkpoint moves the log into the database, and the next commit after
// one that has moved all of it begins the log anew – unless somebody reads a state that needs the log. One reader holds
// that up as long as its transaction lasts, and many short ones that overlap for ever. So a log that has grown long in spite
// of checkpoints is emptied actively: with the lock of those who write, so that whoever begins to read meanwhile needs
// nothing of the log, and what is waited for are the transactions at hand.

const (
	// WALPages is by how many pages the write-ahead log grows between two attempts
	// to move it into the database: 4 MB.
	WALPages = 1000
	// WALLimit is from which length on it is emptied actively: 16 MB.
	WALLimit = 4 * WALPages
	// emptyPatience is how long this process waits for the transactions of readers then, and emptyPause how long it
	// waits between two attempts. It writes nothing meanwhile.
	emptyPatience = time.Second
	emptyPause    = time.Millisecond
)

// wal is what a connection knows about the write-ahead log.
type wal struct {
	commits int  // of this connection that have written something
	pages   int  // its length after the last commit of this connection
	tried   int  // its length at the last checkpoint, if it was not emptied since
	again   int  // the length from which on it is emptied actively; 0 for WALLimit
	held    bool // a reader has kept it from being emptied, and it is longer than WALLimit
	signed  bool // it has what Signature writes
	// broken says that a sync of the database has failed that nothing within
	// this process can make up for.
	broken bool
}

// watch makes w follow the log's length. It takes the place of SQLite's
// automatic checkpoints, which say nothing when they fail.
func (w *wal) watch(c *sqlite3.Conn) {
	c.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		w.commits++
		w.grown(pages)
		return nil
	})
}

func (w *wal) grown(pages int) {
	if pages < w.pages {
		w.emptied() // and begins anew
	}
	w.pages = pages
}

func (w *wal) emptied() { w.pages, w.tried, w.again, w.held, w.signed = 0, 0, 0, false, false }

// WALHeld returns how many bytes the write-ahead log has if a reader keeps it from being emptied, and else 0.
func (c *Conn) WALHeld() int64 {
	if !c.wal.held {
		return 0
	}
	const page, head = 4096, 24
	return int64(c.wal.pages) * (page + head)
}

// TidyFor is Tidy after another connection has found the write-ahead log to have so many pages.
func (c *Conn) TidyFor(pages int) {
	c.wal.grown(pages)
	c.Tidy()
}

// TidyNow is Tidy whatever the length.
func (c *Conn) TidyNow() { c.TidyFor(c.wal.tried + WALPages) }

// Tidy moves the write-ahead log into the database when it has grown long, and empties it when it has grown longer in
// spite of that. The next transaction deals with a failure: what is committed stays committed.
func (c *Conn) Tidy() {
	if c.doubtful || c.wal.pages-c.wal.tried < WALPages {
		return
	}
	c.wal.tried = c.wal.pages
	if !c.tidied(c.Checkpoint(sqlite3.CHECKPOINT_PASSIVE)) || c.wal.pages < max(c.wal.again, WALLimit) {
		return
	}
	// The longer it takes, the less often.
	c.wal.again = c.wal.pages * 3 / 2
	c.empty(emptyPatience)
}

// TryEmpty empties a write-ahead log that a reader has held, if none does any more.
func (c *Conn) TryEmpty() {
	if c.wal.held && !c.doubtful {
		c.empty(0)
	}
}

// empty moves all of the write-ahead log into the database and cuts it. It waits for that long for those who read. It asks
// again and again, because SQLite itself would wait for a place of a reader that others take over meanwhile.
func (c *Conn) empty(patience time.Duration) {
	if patience > 0 && c.Quiet != nil {
		defer c.Quiet()()
	}
	if c.wait(0) != nil {
		return
	}
	defer c.wait(BusyTimeout)
	began := time.Now()
	err := c.Checkpoint(sqlite3.CHECKPOINT_TRUNCATE)
	for errors.Is(err, sqlite3.BUSY) && time.Since(began) < patience {
		time.Sleep(emptyPause)
		err = c.Checkpoint(sqlite3.CHECKPOINT_TRUNCATE)
	}
	switch {
	case err == nil:
		c.wal.emptied()
	case errors.Is(err, sqlite3.BUSY):
		c.wal.held = true
	default:
		c.tidied(err)
	}
}

// tidied reports whether what a checkpoint returned leaves nothing to repair.
func (c *Conn) tidied(err error) bool {
	if err == nil || errors.Is(err, sqlite3.BUSY) || errors.Is(err, sqlite3.FULL) {
		return true // later, then: the write-ahead log has everything
	}
	c.doubtful = true
	c.repair()
	return false
}

// Checkpoint moves what it can of the write-ahead log into the database.
//
// When other connections read an older state, SQLite moves a part, does not
// sync it, and never moves it again. If a later sync of the database fails, the
// operating system may forget that part, and only the write-ahead log still has
// it. Then it must not be emptied: the next process that opens the file moves
// all of it again. A write that fails forgets nothing: SQLite repeats it.
func (c *Conn) Checkpoint(mode sqlite3.CheckpointMode) (err error) {
	if c.panicked != nil {
		return c.panicked
	}
	defer c.Recovered(&err)
	c.disk.unsynced = false
	_, _, err = c.WALCheckpoint("main", mode)
	if err = c.disk.explain(err); c.disk.unsynced {
		if _, moved, noopErr := c.WALCheckpoint("main", sqlite3.CHECKPOINT_NOOP); moved > 0 || noopErr != nil {
			c.wal.broken = true
			_, configErr := c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
			err = errors.Join(err, configErr)
		}
	}
	return err
}
