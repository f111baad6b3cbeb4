// Package database opens the database of a log and runs statements and transactions on it.
// [Connect] opens a [Conn], once [Locate] has found its one name and refused a file without
// the files that belong to it. A Conn keeps its statements prepared, bounds the write-ahead
// log, and repairs what a failed commit or checkpoint leaves behind. A file layer of its own
// (disk.go) remembers why an operation of the disk failed. [Watch] and [ConnectToLook] read a
// file without changing it. The package knows no table.
package database

import (
	"context"
	"fmt"
	"math/bits"
	"net/url"
	"slices"
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
	address  string // of the file, for SQLite
	memory   int64
	panicked error // why the connection cannot be used any more; nil while it can
	wal      wal
	patience patience
	// Signature is what each write-ahead log is to have: statements that write, and change nothing. Nothing else in a log
	// says whose it is. They run with the first transaction that changes something in a log which may not have it.
	Signature string
	changes   int64 // of the connection when the transaction began that signs the log
	// Quiet keeps others of this process from beginning to read, until resume is called, while the write-ahead log
	// is emptied. Nil if there are none.
	Quiet func() (resume func())
}

// PagesInWAL returns how many pages the write-ahead log had after the last commit of this
// connection. Tests use it.
func (c *Conn) PagesInWAL() int { return c.wal.pages }

// Commits returns how many transactions of this connection have written something.
func (c *Conn) Commits() int { return c.wal.commits }

// DiskFailures returns how many operations of the disk have failed.
func (c *Conn) DiskFailures() int { return c.disk.failures }

// Connect opens the file without creating or changing anything in it, unless flags say so.
// vfsName is the file layer that has it; "" is the one that [Locate] finds.
func Connect(path, vfsName string, flags sqlite3.OpenFlag) (*Conn, error) {
	return connect(path, vfsName, flags, BusMemory)
}

// ConnectAt is Connect for what Locate has found.
func ConnectAt(path, vfsName string, flags sqlite3.OpenFlag) (*Conn, error) {
	return connectAt(path, vfsName, flags, BusMemory)
}

// ConnectBounded is Connect for tools, and for programs, which may have many connections: it has less memory.
func ConnectBounded(path, vfsName string, flags sqlite3.OpenFlag) (*Conn, error) {
	return connect(path, vfsName, flags, boundedMemory)
}

// BusMemory is how many bytes of memory SQLite has for a connection of the bus. The driver sets them aside as addresses,
// and takes what is needed. To write a payload takes twice its size, and leaves holes that small values get into. Tests
// make it smaller.
var BusMemory int64 = 512 << 20

// boundedMemory is that of the others.
const boundedMemory = 128 << 20

// lookBytes is how long a value is that a connection to look reads at once: the file may be anybody's.
const lookBytes = 16 << 20

func connect(path, vfsName string, flags sqlite3.OpenFlag, memory int64) (*Conn, error) {
	path, vfsName, err := Locate(path, vfsName)
	if err != nil {
		return nil, err
	}
	return connectAt(path, vfsName, flags, memory)
}

func connectAt(path, vfsName string, flags sqlite3.OpenFlag, memory int64) (*Conn, error) {
	if vfsName == "" && flags&sqlite3.OPEN_READWRITE != 0 {
		file.Prepare(path) // else SQLite says what cannot be done here
	}
	return newDisk(vfsName).connect(path, flags, memory)
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
	return d.connect(path, sqlite3.OPEN_READONLY, boundedMemory)
}

// connect opens a file that has this name only.
func (d *disk) connect(path string, flags sqlite3.OpenFlag, memory int64) (*Conn, error) {
	address := uri(path, d.name, flags)
	c, err := open(address, memory)
	if err != nil {
		d.remove()
		return nil, fault.Wrap("open", path, d.explain(err))
	}
	opened := &Conn{Conn: c, disk: d, Path: path, address: address, memory: memory, stmts: map[string]prepared{}}
	err = opened.configure()
	if d.looking && err == nil {
		c.Limit(sqlite3.LIMIT_LENGTH, lookBytes)
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

// configure makes the settings of each connection.
func (c *Conn) configure() error {
	if err := c.wait(BusyTimeout); err != nil {
		return err
	}
	// Else a statement with LIMIT ? is compiled again for each value.
	_, err := c.Config(sqlite3.DBCONFIG_ENABLE_QPSG, true)
	return err
}

// open opens a connection with so much memory, for which there may be no addresses.
func open(uri string, memory int64) (c *sqlite3.Conn, err error) {
	defer func() {
		if became(recover(), &err) {
			err = fmt.Errorf("%w connection: %w", fault.ErrNoMemory, err)
		}
	}()
	if bits.UintSize < 64 {
		memory = 32 << 20
	}
	return sqlite3.OpenContext(sqlite3.WithMaxMemory(context.Background(), memory), uri)
}

// uri escapes path, which may hold any character, as SQLite wants it.
func uri(path, vfsName string, flags sqlite3.OpenFlag) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	query := url.Values{"mode": {"ro"}}
	switch {
	case flags&sqlite3.OPEN_CREATE != 0:
		query.Set("mode", "rwc")
	case flags&sqlite3.OPEN_READWRITE != 0:
		query.Set("mode", "rw")
	}
	if vfsName != "" {
		query.Set("vfs", vfsName)
	}
	u.RawQuery = query.Encode()
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
		return s, c.panicked
	}
	if c.panicked != nil {
		return prepared{}, c.panicked
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
func (c *Conn) ExecScript(sql string) (err error) {
	if c.panicked != nil {
		return c.panicked
	}
	defer c.Recovered(&err)
	return c.disk.explain(c.Conn.Exec(sql))
}

// Exec runs a statement with its parameters and ignores its rows.
func (c *Conn) Exec(sql string, args ...any) error {
	return c.Query(sql, nil, args...)
}

// Query runs a statement and calls row for each of its rows.
func (c *Conn) Query(sql string, row func(s *sqlite3.Stmt) error, args ...any) (err error) {
	defer c.Recovered(&err)
	s, err := c.prepare(sql)
	if err != nil {
		return err
	}
	if len(args) != s.parameters { // SQLite would take those of the last execution
		return fmt.Errorf("a statement with %d parameters is given %d values: %s", s.parameters, len(args), sql)
	}
	ended := false
	defer func() {
		if !ended { // by an error of row, or a panic
			Quietly(func() { s.Reset() })
		}
	}()
	long, err := bind(s.Stmt, args)
	if long {
		defer Quietly(func() { s.ClearBindings() })
	}
	if err != nil {
		return err
	}
	for s.Step() {
		if row == nil {
			continue
		}
		if err := row(s.Stmt); err != nil {
			return err
		}
	}
	ended = true
	err = s.Err()
	if resetErr := s.Reset(); err == nil {
		err = resetErr
	}
	return c.disk.explain(err)
}

// QueryOnce is Query for a statement without parameters that is not kept prepared.
func (c *Conn) QueryOnce(sql string, row func(s *sqlite3.Stmt) error) (err error) {
	if c.panicked != nil {
		return c.panicked
	}
	defer c.Recovered(&err)
	s, _, err := c.Prepare(sql)
	if err != nil {
		return c.disk.explain(err)
	}
	defer Quietly(func() { s.Close() })
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

// longValue is how long a value is of which SQLite is not to keep a copy until the statement runs again.
const longValue = 64 << 10

// bind gives a statement its values, and tells whether one of them is long.
func bind(s *sqlite3.Stmt, args []any) (long bool, err error) {
	for i, arg := range args {
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
			long = long || len(v) > longValue
			err = s.BindText(i+1, v)
		case []byte:
			long = long || len(v) > longValue
			err = s.BindBlob(i+1, v)
		case time.Time:
			err = s.BindInt64(i+1, v.UnixMicro())
		default:
			err = fmt.Errorf("cannot bind a %T", arg)
		}
		if err != nil {
			return long, err
		}
	}
	return long, nil
}

// Close finalizes the statements and closes the connection.
func (c *Conn) Close() (err error) {
	defer c.disk.remove()
	if c.panicked != nil {
		return nil // it was reported, and what SQLite would do now nobody knows
	}
	defer c.Recovered(&err)
	// The last connection moves the write-ahead log into the database.
	if c.fastenLog() != nil {
		c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
	}
	return closeAll(c.Conn)
}

// closeAll closes a connection with its statements, also those that a panic has left.
func closeAll(c *sqlite3.Conn) error {
	for _, s := range slices.Collect(c.Stmts()) {
		Quietly(func() { s.Close() })
	}
	return c.Close()
}
