package sqlite

import (
	"errors"
	"os"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// visit is a file that is looked at, and perhaps changed. Whoever looks changes
// no byte of the file and of those beside it, creates and deletes none, and needs
// no permission to write.
//
// A file that a process has open is read as every reader does, with its index
// and its locks. Nobody keeps the index of another file up to date; it may be
// missing, or left by a process that was killed, and SQLite would write a new
// one. There the index is made in memory, and no lock is taken. Should a
// process open the file meanwhile, it appends to the write-ahead log, which
// disturbs nobody, until it moves the log into the database; that is noticed.
type visit struct {
	path   string
	conn   *database.Conn
	writes bool            // conn can change the file
	still  *database.Still // nil while a process has the file open
	pinned *os.File
}

// openVisit opens a file in which a bus was opened before, to look at it.
func openVisit(path string) (v visit, err error) {
	v.path = path
	return v, v.reopen()
}

// reading makes conn one that sees the file as it is now.
func (v *visit) reading() error {
	if !v.isElsewhere() && (v.still == nil || v.still.IsCurrent()) {
		return nil
	}
	return v.reopen()
}

// isElsewhere tells whether the name leads to another file than the one that is
// open, or to none: it was moved, deleted or replaced, or nothing is open.
func (v *visit) isElsewhere() bool {
	return v.conn == nil || v.conn.HasMoved(sqlite3.FCNTL_FILE_POINTER) || v.conn.HasMoved(sqlite3.FCNTL_JOURNAL_POINTER)
}

// read is called after f has read, with its error.
func (v *visit) read(err error) error {
	if v.still == nil || v.still.IsIntact() {
		return err
	}
	return &event.StorageError{
		Fault: event.Busy, Op: "read", Path: v.path,
		Hint: "a program began to use the file while it was read; try again",
	}
}

// writing makes conn one that can change the file.
func (v *visit) writing() error {
	if v.writes && !v.isElsewhere() {
		return nil
	}
	path, under, err := database.Locate(v.path, "")
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
		return errors.Join(fault.Wrap("open", v.path, err), c.Close())
	}
	err = v.shut()
	v.conn, v.writes = c, true
	return err
}

// reopen replaces conn by one that looks.
func (v *visit) reopen() error {
	path, under, err := database.Locate(v.path, "")
	if err != nil {
		return err
	}
	next := visit{path: v.path}
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
			return errors.Join(err, next.shut())
		}
	}
	if next.conn, err = database.ConnectToLook(path, under, how); err != nil {
		return unreadable(errors.Join(err, next.shut()))
	}
	if err := ours(next.conn); err != nil {
		next.conn = nil
		return unreadable(errors.Join(err, next.shut()))
	}
	err = v.shut()
	*v = next
	return err
}

// shut closes what is open.
func (v *visit) shut() (err error) {
	if v.conn != nil {
		err = fault.Wrap("close", v.path, v.conn.Close())
	}
	if v.pinned != nil {
		err = errors.Join(err, v.pinned.Close())
	}
	v.conn, v.pinned, v.still = nil, nil, nil
	return err
}

// ours closes a connection to a file in which no bus of this version was opened.
func ours(c *database.Conn) error {
	empty, err := inspect(c)
	if err == nil && !empty {
		err = upToDate(c)
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
