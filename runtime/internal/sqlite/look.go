package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
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
	writes bool   // conn can change the file
	still  *still // nil while a process has the file open
	pinned *os.File
}

// openVisit opens a file in which a bus was opened before, to look at it.
func openVisit(path string) (v visit, err error) {
	v.path = path
	return v, v.reopen()
}

// reading makes conn one that sees the file as it is now.
func (v *visit) reading() error {
	if !v.isElsewhere() && (v.still == nil || v.still.isCurrent()) {
		return nil
	}
	return v.reopen()
}

// isElsewhere tells whether the name leads to another file than the one that is
// open, or to none: it was moved, deleted or replaced.
func (v *visit) isElsewhere() bool {
	return v.conn.HasMoved(sqlite3.FCNTL_FILE_POINTER) || v.conn.HasMoved(sqlite3.FCNTL_JOURNAL_POINTER)
}

// read is called after f has read, with its error.
func (v *visit) read(err error) error {
	if v.still == nil || v.still.isIntact() {
		return err
	}
	return &engine.StorageError{
		Fault: engine.Busy, Op: "read", Path: v.path,
		Hint: "a program began to use the file while it was read; try again",
	}
}

// writing makes conn one that can change the file.
func (v *visit) writing() error {
	if v.writes && !v.isElsewhere() {
		return nil
	}
	c, err := database.Connect(v.path, "", sqlite3.OPEN_READWRITE)
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
		if next.pinned, next.still, err = watchFile(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return unreadable(fault.Wrap("open", path, err))
		}
	}
	if next.conn, err = database.ConnectToLook(path, under, next.still != nil); err != nil {
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
	if err == nil && empty {
		err = &engine.StorageError{Fault: engine.Foreign, Op: "open", Path: c.Path, Hint: "the file is empty; no bus was opened on it yet"}
	}
	if err != nil {
		c.Close()
		return fault.Wrap("open", c.Path, err)
	}
	return nil
}

// unreadable says what to do about a file that cannot even be looked at.
func unreadable(err error) error {
	var storage *engine.StorageError
	if errors.As(err, &storage) && (storage.Fault == engine.ReadOnly || storage.Fault == engine.IO) {
		storage.Hint = "looking needs permission to read the file and those beside it (-wal, -shm), and none to write; " +
			"if they cannot be made readable, copy all of them to another folder while no program uses them, and look at the copy"
	}
	return err
}

// watchFile finds out how to read a file: with the index of the processes that
// have it open, which pinned keeps from being made anew, or as a still one.
func watchFile(path string) (pinned *os.File, _ *still, err error) {
	inUse, err := locks.InUse(path)
	if err != nil {
		return nil, nil, err
	}
	if inUse {
		return locks.PinIndex(path + file.IndexSuffix), nil, nil
	}
	s := &still{path: path}
	if s.database, err = stampOf(path); err != nil {
		return nil, nil, err
	}
	// Files are stamped by a clock that stands still for some milliseconds.
	if age := time.Since(s.database.changed); age >= 0 && age < stampStep {
		time.Sleep(stampStep)
		if s.database, err = stampOf(path); err != nil {
			return nil, nil, err
		}
	}
	if s.log, err = stampOf(path + file.WALSuffix); err != nil {
		return nil, nil, err
	}
	s.logHeader, err = headOf(path + file.WALSuffix)
	return nil, s, err
}

// stampStep is longer than the clocks stand still by which systems stamp files.
const stampStep = 20 * time.Millisecond

// still is a file that no process has open, as it was when it was opened here.
type still struct {
	path          string
	database, log stamp
	logHeader     [walHeader]byte
}

// walHeader is the length of what a write-ahead log begins with. It changes when
// the log begins anew.
const walHeader = 32

// isCurrent tells whether nothing was written since, and nobody can.
func (s *still) isCurrent() bool {
	database, err := stampOf(s.path)
	log, logErr := stampOf(s.path + file.WALSuffix)
	inUse, useErr := locks.InUse(s.path)
	return errors.Join(err, logErr, useErr) == nil && !inUse && s.database.equal(database) && s.log.equal(log)
}

// isIntact tells whether everything is still there that was there. What was
// appended to the log does not matter.
func (s *still) isIntact() bool {
	database, err := stampOf(s.path)
	header, headErr := headOf(s.path + file.WALSuffix)
	if errors.Join(err, headErr) != nil || !s.database.equal(database) {
		return false
	}
	return s.log.size < walHeader || header == s.logHeader
}

// stamp says which file it is, and when it was changed. It is zero for none.
type stamp struct {
	info    os.FileInfo
	size    int64
	changed time.Time
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return stamp{}, nil
	}
	if err != nil {
		return stamp{}, err
	}
	return stamp{info, info.Size(), info.ModTime()}, nil
}

func (s stamp) equal(other stamp) bool {
	if s.info == nil || other.info == nil {
		return s.info == nil && other.info == nil
	}
	return os.SameFile(s.info, other.info) && s.size == other.size && s.changed.Equal(other.changed)
}

// headOf reads the header of a write-ahead log, or zeros if it has none.
func headOf(path string) (header [walHeader]byte, err error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return header, nil
	}
	if err != nil {
		return header, err
	}
	defer file.Close()
	if _, err := io.ReadFull(file, header[:]); err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return header, fmt.Errorf("read %s: %w", path, err)
	}
	return header, nil
}
