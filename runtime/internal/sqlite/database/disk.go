package database

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// disk is the file layer of one connection. It passes everything on to a layer
// of the driver, and keeps what SQLite's error codes do not say: what the
// operating system answered, and whether a sync of the database has failed. Like
// its connection, it belongs to one goroutine at a time.
//
// It exists because a full disk is an "I/O error" to the driver, which looks for
// an error number where [os.File] returns a *[fs.PathError], and because SQLite
// releases its locks after a failure, which makes the driver forget the error.
type disk struct {
	name  string // by which the driver knows this layer
	under string // the name of the layer below; "" for the operating system's
	path  string // of the database, once it is open

	looking  bool // nothing may be changed, created or deleted
	still    bool // nor locked: nobody else has the file open
	unlogged bool // nor is the write-ahead log read

	failed   sqlite3.ExtendedErrorCode // what SQLite was told of the last failure
	reason   error                     // and what the operating system had said
	failures int                       // how many there were
	unsynced bool                      // a sync of the database file has failed

	log       *diskFile // the write-ahead log, while it is open
	logEnd    int64     // where the last write to it ended
	logSynced int64     // up to here it is on the disk
	logLoose  bool      // a sync of it has failed: the operating system may have forgotten the rest
	gathering gathering // what is to be written to it
}

var disks atomic.Int64

// newDisk makes a layer known to the driver until it is removed.
func newDisk(under string) *disk {
	d := &disk{name: "busgen-" + strconv.FormatInt(disks.Add(1), 10), under: under}
	vfs.Register(d.name, d)
	return d
}

func (d *disk) remove() { vfs.Unregister(d.name) }

// explain adds to an error of SQLite what the operating system had said.
func (d *disk) explain(err error) error {
	if err == nil {
		return nil // before there are variables for errors.As, which are on the heap
	}
	var code sqlite3.ExtendedErrorCode
	reason := d.reason
	switch {
	case !errors.As(err, &code):
		return err
	case code == sqlite3.IOERR_SHMSIZE && d.under == "" && d.path != "" && !d.looking:
		reason = noRoom(d.path + "-shm")
	case code != d.failed:
		return err
	}
	if reason == nil || errors.Is(err, reason) {
		return err
	}
	return fmt.Errorf("%w: %w", err, reason)
}

// noRoom says why the index of the write-ahead log cannot grow. It is a file of
// the driver's, which forgets the reason; so this tries to write as much beside it.
func noRoom(path string) error {
	probe, err := os.CreateTemp(filepath.Dir(path), ".busgen-room-*")
	if err != nil {
		return nil
	}
	defer os.Remove(probe.Name())
	defer probe.Close()
	_, err = probe.Write(make([]byte, 32<<10))
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return nil
	}
	return &fs.PathError{Op: "extend", Path: path, Err: errno}
}

// fail remembers why an operation fails, and returns what SQLite is told: code,
// or that the disk is full. What a layer below has said in SQLite's own codes
// stays.
func (d *disk) fail(err error, code sqlite3.ExtendedErrorCode) error {
	d.failures++
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err
	}
	if code != sqlite3.IOERR_FSYNC && fault.IsOutOfSpace(errno) {
		code = sqlite3.ExtendedErrorCode(sqlite3.FULL)
	}
	d.failed, d.reason = code, err
	return vfs.SystemError(err, code)
}

// below returns the layer that does the work.
func (d *disk) below() (vfs.VFS, error) {
	if layer := vfs.Find(d.under); layer != nil {
		return layer, nil
	}
	return nil, vfs.SystemError(fmt.Errorf("the file layer %q is gone", d.under), sqlite3.CANTOPEN)
}

// Open implements [vfs.VFS]. The driver calls OpenFilename instead.
func (d *disk) Open(string, vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	return nil, 0, sqlite3.CANTOPEN
}

// OpenFilename implements [vfs.VFSFilename].
func (d *disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	layer, err := d.below()
	if err != nil {
		return nil, flags, err
	}
	file, flags, err := d.open(layer, name, flags)
	if err != nil {
		return nil, flags, d.fail(err, sqlite3.ExtendedErrorCode(sqlite3.CANTOPEN))
	}
	opened := &diskFile{File: file, disk: d, database: flags&vfs.OPEN_MAIN_DB != 0, temporary: name.String() == ""}
	if opened.database && d.path == "" { // and not what is attached
		d.path = name.String()
	}
	if flags&vfs.OPEN_WAL != 0 && name.Database() == d.path {
		d.log = opened
	}
	return opened, flags, nil
}

// open opens a file on the layer below.
func (d *disk) open(layer vfs.VFS, name *vfs.Filename, flags vfs.OpenFlag) (file vfs.File, _ vfs.OpenFlag, err error) {
	if d.looking && name.String() != "" {
		flags = flags&^(vfs.OPEN_READWRITE|vfs.OPEN_CREATE) | vfs.OPEN_READONLY
		if flags&vfs.OPEN_WAL != 0 {
			if there, err := layer.Access(name.String(), vfs.ACCESS_EXISTS); err == nil && !there || d.unlogged {
				return noFile{}, flags, nil // all of it is in the database
			}
		}
	}
	if named, ok := layer.(vfs.VFSFilename); ok {
		file, flags, err = named.OpenFilename(name, flags)
	} else {
		file, flags, err = layer.Open(name.String(), flags)
	}
	return file, flags, err
}

// Delete implements [vfs.VFS].
func (d *disk) Delete(name string, syncFolder bool) error {
	if d.looking {
		return sqlite3.READONLY
	}
	layer, err := d.below()
	if err != nil {
		return err
	}
	return layer.Delete(name, syncFolder)
}

// Access implements [vfs.VFS].
func (d *disk) Access(name string, flags vfs.AccessFlag) (bool, error) {
	layer, err := d.below()
	if err != nil {
		return false, err
	}
	return layer.Access(name, flags)
}

// FullPathname implements [vfs.VFS].
func (d *disk) FullPathname(name string) (string, error) {
	layer, err := d.below()
	if err != nil {
		return "", err
	}
	return layer.FullPathname(name)
}

// writeLogAgain writes over itself what the write-ahead log has that is not known to be on
// the disk, so that the operating system takes it for changed, and syncs it.
func (d *disk) writeLogAgain() error {
	if d.log == nil {
		return nil
	}
	size, err := d.log.Size()
	page := make([]byte, 64<<10)
	for at := d.logSynced; err == nil && at < size; at += int64(len(page)) {
		page = page[:min(int64(len(page)), size-at)]
		var n int
		if n, err = d.log.ReadAt(page, at); err == nil || err == io.EOF {
			_, err = d.log.WriteAt(page[:n], at)
		}
	}
	if err == nil {
		err = d.log.Sync(vfs.SYNC_FULL)
	}
	if err == nil {
		d.logLoose, d.logSynced = false, size
	}
	return err
}
