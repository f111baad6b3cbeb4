package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/ncruces/go-sqlite3"
)

// busyTimeout is how long a statement waits for another process's lock.
const busyTimeout = 5 * time.Second

// conn is a connection with its prepared statements. It belongs to one
// goroutine at a time.
type conn struct {
	*sqlite3.Conn
	disk  *disk
	path  string
	stmts map[string]*sqlite3.Stmt
	full  bool // synchronous is FULL
	// doubtful says that a commit or a checkpoint has failed, and repair is
	// still to come.
	doubtful bool
	wal      wal
}

// walPages is by how many pages the write-ahead log grows between two attempts
// to move it into the database.
const walPages = 1000

// wal is what a connection knows about the write-ahead log.
type wal struct {
	pages int // its length after the last commit of this connection
	tried int // its length at the last checkpoint, if it was not emptied since
	// broken says that a sync of the database has failed that nothing within
	// this process can make up for.
	broken bool
}

// watch makes w follow the log's length. It takes the place of SQLite's
// automatic checkpoints, which say nothing when they fail.
func (w *wal) watch(c *sqlite3.Conn) {
	c.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		if pages < w.pages {
			w.tried = 0 // it was emptied, and begins anew
		}
		w.pages = pages
		return nil
	})
}

// connect opens the file without creating or changing anything in it.
func connect(path, vfsName string, flags sqlite3.OpenFlag) (*conn, error) {
	path, vfsName, err := locate(path, vfsName)
	if err != nil {
		return nil, err
	}
	if vfsName == "" && flags&sqlite3.OPEN_READWRITE != 0 {
		file.Prepare(path) // else SQLite says what cannot be done here
	}
	return newDisk(vfsName).connect(path, flags)
}

// connect opens a file that has this name only.
func (d *disk) connect(path string, flags sqlite3.OpenFlag) (*conn, error) {
	c, err := sqlite3.OpenFlags(uri(path, d.name), flags|sqlite3.OPEN_URI)
	if err != nil {
		d.remove()
		return nil, fault.Wrap("open", path, d.explain(err))
	}
	opened := &conn{Conn: c, disk: d, path: path, stmts: map[string]*sqlite3.Stmt{}}
	err = c.BusyTimeout(busyTimeout)
	if d.looking && err == nil {
		_, err = c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
		if err == nil {
			err = c.Exec("PRAGMA temp_store=MEMORY") // there may be no place for temporary files
		}
	}
	if d.still && err == nil {
		err = c.Exec("PRAGMA locking_mode=EXCLUSIVE") // which makes the index in memory
	}
	if err != nil {
		opened.Close()
		return nil, fault.Wrap("open", path, err)
	}
	opened.wal.watch(c)
	return opened, nil
}

// uri escapes path, which may hold any character, as SQLite wants it.
func uri(path, vfsName string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	if vfsName != "" {
		u.RawQuery = url.Values{"vfs": {vfsName}}.Encode()
	}
	return u.String()
}

// stmt returns the prepared statement for sql, which should be a constant: a
// statement lives as long as the connection.
func (c *conn) stmt(sql string) (*sqlite3.Stmt, error) {
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	s, _, err := c.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, c.disk.explain(err)
	}
	c.stmts[sql] = s
	return s, nil
}

// Exec runs statements that are not worth keeping.
func (c *conn) Exec(sql string) error { return c.disk.explain(c.Conn.Exec(sql)) }

// exec runs a statement with its parameters and ignores its rows.
func (c *conn) exec(sql string, args ...any) error {
	return c.query(sql, nil, args...)
}

// query runs a statement and calls row for each of its rows.
func (c *conn) query(sql string, row func(s *sqlite3.Stmt) error, args ...any) error {
	s, err := c.stmt(sql)
	if err != nil {
		return err
	}
	if err := bind(s, args); err != nil {
		return err
	}
	for s.Step() {
		if row == nil {
			continue
		}
		if err := row(s); err != nil {
			s.Reset()
			return err
		}
	}
	err = s.Err()
	if resetErr := s.Reset(); err == nil {
		err = resetErr
	}
	return c.disk.explain(err)
}

// int64 returns the only value of the only row, or 0 when that is NULL.
func (c *conn) int64(sql string, args ...any) (value int64, err error) {
	err = c.query(sql, func(s *sqlite3.Stmt) error {
		value = s.ColumnInt64(0)
		return nil
	}, args...)
	return value, err
}

func bind(s *sqlite3.Stmt, args []any) error {
	for i, arg := range args {
		var err error
		switch v := arg.(type) {
		case nil:
			err = s.BindNull(i + 1)
		case int64:
			err = s.BindInt64(i+1, v)
		case int:
			err = s.BindInt64(i+1, int64(v))
		case bool:
			err = s.BindBool(i+1, v)
		case string:
			err = s.BindText(i+1, v)
		case []byte:
			err = s.BindBlob(i+1, v)
		case time.Time:
			err = s.BindInt64(i+1, v.UnixMicro())
		default:
			err = fmt.Errorf("cannot bind a %T", arg)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// transaction runs f between BEGIN IMMEDIATE and COMMIT. With full the commit
// is on disk when it returns; without, it is in the hands of the operating
// system. Whatever fails, nothing of f remains.
func (c *conn) transaction(full bool, f func() error) error {
	err := c.commit(full, f)
	c.tidy()
	return err
}

// commit is transaction without tidy.
func (c *conn) commit(full bool, f func() error) error {
	if err := c.begin(full); err != nil {
		return err
	}
	return c.finish(f)
}

// begin starts a transaction for finish. It waits for other processes.
func (c *conn) begin(full bool) error {
	if c.doubtful {
		if err := c.repair(); err != nil {
			return err
		}
	}
	if err := c.setFull(full); err != nil {
		return err
	}
	return c.exec("BEGIN IMMEDIATE")
}

// tryBegin is begin that waits for nothing, and reports whether it has started
// a transaction.
func (c *conn) tryBegin(full bool) bool {
	if c.doubtful || c.BusyTimeout(0) != nil {
		return false
	}
	err := c.begin(full)
	c.BusyTimeout(busyTimeout)
	return err == nil
}

// finish runs f in the transaction that begin has started, and ends it.
func (c *conn) finish(f func() error) error {
	err := f()
	// From here on no context interrupts: what is open would lock everyone out.
	defer c.SetInterrupt(c.SetInterrupt(context.Background()))
	if err == nil {
		if err = c.exec("COMMIT"); err == nil {
			return nil
		}
		// A write that finds no space does not happen, so that the end of the
		// transaction is not in the write-ahead log.
		c.doubtful = !errors.Is(err, sqlite3.BUSY) && !errors.Is(err, sqlite3.FULL)
	}
	// Some failures (a full disk) have rolled back already.
	if !c.GetAutocommit() {
		if rollbackErr := c.exec("ROLLBACK"); rollbackErr != nil {
			return fmt.Errorf("%w (and the rollback failed: %v)", err, rollbackErr)
		}
	}
	if c.doubtful {
		if repairErr := c.repair(); repairErr != nil {
			return fmt.Errorf("%w (%w: %v)", err, fault.ErrInDoubt, repairErr)
		}
	}
	return err
}

// tidy moves the write-ahead log into the database when it has grown long. The
// next transaction deals with a failure: what is committed stays committed.
func (c *conn) tidy() {
	if c.doubtful || c.wal.pages-c.wal.tried < walPages {
		return
	}
	c.wal.tried = c.wal.pages
	switch err := c.checkpoint(sqlite3.CHECKPOINT_PASSIVE); {
	case err == nil, errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.FULL):
		// Later, then. The write-ahead log has everything.
	default:
		c.doubtful = true
		c.repair()
	}
}

// checkpoint moves what it can of the write-ahead log into the database.
//
// When other connections read an older state, SQLite moves a part, does not
// sync it, and never moves it again. If a later sync of the database fails, the
// operating system may forget that part, and only the write-ahead log still has
// it. Then it must not be emptied: the next process that opens the file moves
// all of it again. A write that fails forgets nothing: SQLite repeats it.
func (c *conn) checkpoint(mode sqlite3.CheckpointMode) error {
	c.disk.unsynced = false
	_, _, err := c.WALCheckpoint("main", mode)
	if err = c.disk.explain(err); c.disk.unsynced {
		if _, moved, noopErr := c.WALCheckpoint("main", sqlite3.CHECKPOINT_NOOP); moved > 0 || noopErr != nil {
			c.wal.broken = true
			_, configErr := c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
			err = errors.Join(err, configErr)
		}
	}
	return err
}

// repair makes up for a commit or a checkpoint that failed. After a commit all
// of it may stand in the write-ahead log, and would be found there if the
// process died now. And when a sync fails, the operating system may forget what
// it has not yet written, earlier commits included, and later syncs do not bring
// that back. Both end when the write-ahead log is moved into the database and
// emptied, and a commit that changes nothing is synced after that. Until this
// has worked, nothing else is written.
func (c *conn) repair() error {
	if c.wal.broken {
		return &engine.StorageError{
			Fault: engine.IO, Op: "write", Path: c.path,
			Hint: "the disk has failed to keep what was written, and the events are safe only in the file " + c.path +
				"-wal: check the disk, end every program that uses the file, and start again",
		}
	}
	if err := c.setFull(true); err != nil {
		return err
	}
	err := c.checkpoint(sqlite3.CHECKPOINT_TRUNCATE)
	var version int64
	if err == nil {
		version, err = c.int64("PRAGMA user_version")
	}
	if err == nil {
		err = c.Exec(fmt.Sprintf("PRAGMA user_version=%d", version))
	}
	c.doubtful = err != nil
	return err
}

// setFull chooses what a commit waits for. The driver's default for WAL files
// is NORMAL, which can lose acknowledged events when the power fails.
func (c *conn) setFull(full bool) error {
	if c.full == full {
		return nil
	}
	mode := "NORMAL"
	if full {
		mode = "FULL"
	}
	// Not prepared: this pragma takes effect while it is being compiled.
	if err := c.Exec("PRAGMA synchronous=" + mode); err != nil {
		return err
	}
	c.full = full
	return nil
}

// shut finalizes the statements and closes the connection.
func (c *conn) shut() error {
	for _, s := range c.stmts {
		s.Close()
	}
	return c.Close()
}

// Close closes the connection, once its statements are finalized.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.disk.remove()
	return err
}
