// Package database opens the database of a log and runs statements and transactions on it.
// [Connect] opens a [Conn], once [Locate] has found its one name and refused a file without
// the files that belong to it. A Conn keeps its statements prepared, bounds the write-ahead
// log, and repairs what a failed commit or checkpoint leaves behind. A file layer of its own
// (disk.go) remembers why an operation of the disk failed. [Watch] and [ConnectToLook] read a
// file without changing it. The package knows no table.
package database

import (
	"fmt"
	"net/url"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
)

// BusyTimeout is how long a statement waits for another process's lock.
const BusyTimeout = 5 * time.Second

// Conn is a connection with its prepared statements. It belongs to one
// goroutine at a time.
type Conn struct {
	*sqlite3.Conn
	disk  *disk
	Path  string
	stmts map[string]prepared
	full  bool // synchronous is FULL
	// doubtful says that a commit or a checkpoint has failed, and repair is
	// still to come.
	doubtful bool
	wal      wal
	patience patience
	// Quiet keeps others of this process from beginning to read, until resume is called, while the write-ahead log
	// is emptied. Nil if there are none.
	Quiet func() (resume func())
}

// PagesInWAL returns how many pages the write-ahead log had after the last commit of this
// connection. Tests use it.
func (c *Conn) PagesInWAL() int { return c.wal.pages }

// DiskFailures returns how many operations of the disk have failed.
func (c *Conn) DiskFailures() int { return c.disk.failures }

// Connect opens the file without creating or changing anything in it, unless flags say so.
// vfsName is the file layer that has it; "" is the one that [Locate] finds.
func Connect(path, vfsName string, flags sqlite3.OpenFlag) (*Conn, error) {
	path, vfsName, err := Locate(path, vfsName)
	if err != nil {
		return nil, err
	}
	if vfsName == "" && flags&sqlite3.OPEN_READWRITE != 0 {
		file.Prepare(path) // else SQLite says what cannot be done here
	}
	return newDisk(vfsName).connect(path, flags)
}

// Look is how a file is looked at.
type Look int

const (
	LookBeside Look = iota // other processes have it open
	LookAtBoth             // no other process has; no lock is taken, and the index of the write-ahead log is made in memory
	LookAtFile             // the same, and the write-ahead log is not read
)

// ConnectToLook opens a file that Locate has found, and changes no byte of it and of
// those beside it.
func ConnectToLook(path, under string, how Look) (*Conn, error) {
	d := newDisk(under)
	d.looking, d.still, d.unlogged = true, how != LookBeside, how == LookAtFile
	return d.connect(path, sqlite3.OPEN_READONLY)
}

// connect opens a file that has this name only.
func (d *disk) connect(path string, flags sqlite3.OpenFlag) (*Conn, error) {
	c, err := sqlite3.OpenFlags(uri(path, d.name), flags|sqlite3.OPEN_URI)
	if err != nil {
		d.remove()
		return nil, fault.Wrap("open", path, d.explain(err))
	}
	opened := &Conn{Conn: c, disk: d, Path: path, stmts: map[string]prepared{}}
	err = opened.wait(BusyTimeout)
	if err == nil { // else a statement with LIMIT ? is compiled again for each value
		_, err = c.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true)
	}
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

// prepared is a statement with the number of its parameters.
type prepared struct {
	*sqlite3.Stmt
	parameters int
}

// Stmt returns the prepared statement for sql, which should be a constant: a
// statement lives as long as the connection.
func (c *Conn) Stmt(sql string) (*sqlite3.Stmt, error) {
	s, err := c.prepare(sql)
	return s.Stmt, err
}

func (c *Conn) prepare(sql string) (prepared, error) {
	if s, ok := c.stmts[sql]; ok {
		return s, nil
	}
	s, _, err := c.PrepareFlags(sql, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return prepared{}, c.disk.explain(err)
	}
	p := prepared{s, s.BindCount()}
	c.stmts[sql] = p
	return p, nil
}

// ExecScript runs one or more statements without keeping them prepared.
func (c *Conn) ExecScript(sql string) error { return c.disk.explain(c.Conn.Exec(sql)) }

// Exec runs a statement with its parameters and ignores its rows.
func (c *Conn) Exec(sql string, args ...any) error {
	return c.Query(sql, nil, args...)
}

// Query runs a statement and calls row for each of its rows.
func (c *Conn) Query(sql string, row func(s *sqlite3.Stmt) error, args ...any) error {
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	if len(args) != s.parameters { // SQLite would take those of the last execution
		return fmt.Errorf("a statement with %d parameters is given %d values: %s", s.parameters, len(args), sql)
	}
	if err := bind(s.Stmt, args); err != nil {
		return err
	}
	for s.Step() {
		if row == nil {
			continue
		}
		if err := row(s.Stmt); err != nil {
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

// QueryOnce is Query for a statement without parameters that is not kept prepared.
func (c *Conn) QueryOnce(sql string, row func(s *sqlite3.Stmt) error) error {
	s, _, err := c.Prepare(sql)
	if err != nil {
		return c.disk.explain(err)
	}
	defer s.Close()
	for s.Step() {
		if err := row(s); err != nil {
			return err
		}
	}
	return c.disk.explain(s.Err())
}

// Int64 returns the only value of the only row, or 0 when that is NULL.
func (c *Conn) Int64(sql string, args ...any) (value int64, err error) {
	err = c.Query(sql, func(s *sqlite3.Stmt) error {
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

// Close finalizes the statements and closes the connection.
func (c *Conn) Close() error {
	// The last connection moves the write-ahead log into the database.
	if c.fastenLog() != nil {
		c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
	}
	for _, s := range c.stmts {
		s.Close()
	}
	err := c.Conn.Close()
	c.disk.remove()
	return err
}
