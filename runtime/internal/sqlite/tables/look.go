package tables

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
)

// Visit is a file that is looked at, and perhaps changed. Whoever looks changes
// no byte of the file and of those beside it, creates and deletes none, and needs
// no permission to write.
//
// A file that a process has open is read as every reader does, with its index
// and its locks. Nobody keeps the index of another file up to date; it may be
// missing, or left by a process that was killed, and SQLite would write a new
// one. There the index is made in memory, and no lock is taken. Should a
// process open the file meanwhile, it appends to the write-ahead log, which
// disturbs nobody, until it moves the log into the database; that is noticed.
type Visit struct {
	Path   string
	Conn   *database.Conn
	writes bool            // conn can change the file
	still  *database.Still // nil while a process has the file open
	pinned *os.File
}

// OpenVisit opens a file in which a bus was opened before, to look at it.
func OpenVisit(path string) (v Visit, err error) {
	v.Path = path
	return v, v.reopen()
}

// Reading makes conn one that sees the file as it is now.
func (v *Visit) Reading() error {
	if !v.isElsewhere() && (v.still == nil || v.still.IsCurrent()) {
		return nil
	}
	return v.reopen()
}

// isElsewhere tells whether the name leads to another file than the one that is
// open, or to none: it was moved, deleted or replaced, or nothing is open.
func (v *Visit) isElsewhere() bool {
	return v.Conn == nil || v.Conn.HasMoved(sqlite3.FCNTL_FILE_POINTER) || v.Conn.HasMoved(sqlite3.FCNTL_JOURNAL_POINTER)
}

// Read is called after f has read, with its error.
func (v *Visit) Read(err error) error {
	if v.still == nil || v.still.IsIntact() {
		return err
	}
	return &event.StorageError{
		Fault: event.Busy, Op: "read", Path: v.Path,
		Hint: "a program began to use the file while it was read; try again",
	}
}

// Writing makes conn one that can change the file.
func (v *Visit) Writing() error {
	if v.writes && !v.isElsewhere() {
		return nil
	}
	path, under, err := database.Locate(v.Path, "")
	if err != nil {
		return err
	}
	if err := requireOwnLog(path, under); err != nil {
		return err
	}
	c, err := database.ConnectAt(path, under, sqlite3.OPEN_READWRITE)
	if err != nil {
		return err
	}
	if err := ours(c); err != nil {
		return err
	}
	if err := c.SetFull(true); err != nil {
		return errors.Join(fault.Wrap("open", v.Path, err), c.Close())
	}
	err = v.Shut()
	v.Conn, v.writes = c, true
	return err
}

// reopen replaces conn by one that looks.
func (v *Visit) reopen() error {
	path, under, err := database.Locate(v.Path, "")
	if err != nil {
		return err
	}
	next := Visit{Path: v.Path}
	if under == "" {
		// What does not exist is for SQLite to say.
		if next.pinned, next.still, err = database.Watch(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return unreadable(fault.Wrap("open", path, err))
		}
	}
	how := database.LookBeside
	if next.still != nil {
		how = database.LookAtBoth
		if err := requireOwnLog(path, under); err != nil {
			return errors.Join(err, next.Shut())
		}
	}
	if next.Conn, err = database.ConnectToLook(path, under, how); err != nil {
		return unreadable(errors.Join(err, next.Shut()))
	}
	if err := ours(next.Conn); err != nil {
		next.Conn = nil
		return unreadable(errors.Join(err, next.Shut()))
	}
	err = v.Shut()
	*v = next
	return err
}

// Shut closes what is open.
func (v *Visit) Shut() (err error) {
	if v.Conn != nil {
		err = fault.Wrap("close", v.Path, v.Conn.Close())
	}
	if v.pinned != nil {
		err = errors.Join(err, v.pinned.Close())
	}
	v.Conn, v.pinned, v.still = nil, nil, nil
	return err
}

// ours closes a connection to a file in which no bus of this version was opened.
func ours(c *database.Conn) error {
	empty, err := Inspect(c)
	if err == nil && !empty {
		err = UpToDate(c)
	}
	if err == nil && !empty {
		err = isSchema(c)
	}
	if err == nil && empty {
		err = &event.StorageError{Fault: event.Foreign, Op: "open", Path: c.Path, Hint: "the file is empty; no bus was opened on it yet"}
	}
	if err != nil {
		c.Close()
		return fault.Wrap("open", c.Path, err)
	}
	return nil
}

// unreadable says what to do about a file that cannot even be looked at.
func unreadable(err error) error {
	var storage *event.StorageError
	if errors.As(err, &storage) && (storage.Fault == event.ReadOnly || storage.Fault == event.IO) {
		storage.Hint = "looking needs permission to read the file and those beside it (-wal, -shm), and none to write; " +
			"if they cannot be made readable, copy all of them to another folder while no program uses them, and look at the copy"
	}
	return err
}

// requireOwnLog refuses a file beside which the write-ahead log of another one lies. A log belongs to a file by its name
// only: SQLite would read the events of one into the other, over its own. That happens when a file is
// moved to where another one was in use, and died. What nobody can tell, such as a copy of the
// same file, passes. The path is one that database.Locate has found.
func requireOwnLog(path, vfsName string) error {
	if vfsName != "" || file.Note(path) != "" {
		return nil
	}
	if size, err := file.Size(path + file.WALSuffix); err != nil || size == 0 {
		return nil
	}
	if used, err := locks.InUse(path); err != nil || used {
		return nil // with its own log
	}
	alone, err := identityOf(path, database.LookAtFile)
	if err != nil || alone == nil {
		return nil
	}
	with, err := identityOf(path, database.LookAtBoth)
	// A log can make a file unreadable that is as long as another one.
	if err != nil && !errors.Is(err, sqlite3.CORRUPT) || err == nil && (with == nil || bytes.Equal(alone, with)) {
		return nil
	}
	return &event.StorageError{
		Fault: event.Incomplete, Op: "open", Path: path,
		Err: fmt.Errorf("%s-wal is the write-ahead log of another file, which was here before, and would be read over what this one has", path),
		Hint: fmt.Sprintf("move %[1]s-wal, %[1]s-shm and %[1]s-claims to another folder (together with the file that they belong to, if that is still somewhere), and open it again. "+
			"If the content of another file was restored into this one a moment before the process died, run instead: sqlite3 %[2]s 'PRAGMA wal_checkpoint'. "+
			"Nothing was changed", path, file.Quoted(path)),
	}
}

// signature brings the page with the identity of the file into its write-ahead log, for requireOwnLog. It writes another
// value and then the same again, because SQLite writes no page that stays as it is.
const signature = "UPDATE busgen_identity SET log = hex(log); UPDATE busgen_identity SET log = unhex(log)"

// identityOf returns the random number that a log keeps for life, or an error if it cannot be read.
func identityOf(path string, how database.Look) (log []byte, err error) {
	c, err := database.ConnectToLook(path, "", how)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	err = c.QueryOnce("SELECT log FROM busgen_identity", func(s *sqlite3.Stmt) error {
		log = s.ColumnBlob(0, nil)
		return nil
	})
	return log, err
}
