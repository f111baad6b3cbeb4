package database

import (
	"io"
	"os"
	"runtime"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"

	"github.com/busgen/busgen/runtime/internal/sqlite/file"
)

// diskFile is a file of a [disk]. The driver asks a file for each of its
// abilities by an interface of its own: what is not passed on here is lost, and
// without shared memory, for one, there is no write-ahead log. A test compares
// this type with the driver's.
type diskFile struct {
	vfs.File
	disk      *disk
	database  bool // not a log, a journal or a temporary file
	temporary bool
	is        os.FileInfo // which file of the system it is; nil before somebody has asked
}

// isKept tells whether nothing may be written to the file.
func (f *diskFile) isKept() bool { return f.disk.looking && !f.temporary }

func (f *diskFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.writeGathered(); err != nil {
		return 0, err
	}
	n, err := f.File.ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = f.disk.fail(err, sqlite3.IOERR_READ)
	}
	return n, err
}

func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	if f.isKept() {
		return 0, sqlite3.READONLY
	}
	if f == f.disk.log {
		return f.writeLog(p, off)
	}
	n, err := f.File.WriteAt(p, off)
	if err != nil {
		err = f.disk.fail(err, sqlite3.IOERR_WRITE)
	}
	return n, err
}

func (f *diskFile) Truncate(size int64) error {
	if f.isKept() {
		return sqlite3.READONLY
	}
	err := f.writeGathered()
	if err != nil {
		return err
	}
	err = f.File.Truncate(size)
	if err != nil {
		err = f.disk.fail(err, sqlite3.IOERR_TRUNCATE)
	}
	return err
}

// Size implements [vfs.File].
func (f *diskFile) Size() (int64, error) {
	if err := f.writeGathered(); err != nil {
		return 0, err
	}
	return f.File.Size()
}

// Sync never fails for want of space in SQLite's words, even if it does: what
// was written may be lost, and that is what [Conn.Commit] must know.
func (f *diskFile) Sync(flags vfs.SyncFlag) error {
	if f.isKept() {
		return nil
	}
	err := f.writeGathered()
	if err != nil {
		return err
	}
	if f == f.disk.log && f.disk.logEnd > logHead {
		f.disk.gathering.on = false // what comes now can be seen by others
	}
	err = f.File.Sync(flags)
	if err != nil {
		f.disk.unsynced = f.disk.unsynced || f.database
		f.disk.logLoose = f.disk.logLoose || f == f.disk.log
		err = f.disk.fail(err, sqlite3.IOERR_FSYNC)
	} else if f == f.disk.log && !f.disk.logLoose {
		f.disk.logSynced = f.disk.logEnd
	}
	return err
}

// Close implements [io.Closer].
func (f *diskFile) Close() error {
	if f.disk.log == f {
		f.disk.log = nil
	}
	return f.File.Close()
}

// Lock implements [vfs.File].
func (f *diskFile) Lock(level vfs.LockLevel) error {
	if f.disk.still {
		return nil
	}
	return f.File.Lock(level)
}

// Unlock implements [vfs.File].
func (f *diskFile) Unlock(level vfs.LockLevel) error {
	if f.disk.still {
		return nil
	}
	return f.File.Unlock(level)
}

// CheckReservedLock implements [vfs.File].
func (f *diskFile) CheckReservedLock() (bool, error) {
	if f.disk.still {
		return false, nil
	}
	return f.File.CheckReservedLock()
}

// SharedMemory implements [vfs.FileSharedMemory].
func (f *diskFile) SharedMemory() vfs.SharedMemory {
	if f.disk.still {
		return nil
	}
	if file, ok := f.File.(vfs.FileSharedMemory); ok {
		return file.SharedMemory()
	}
	return nil
}

// MemoryMapper implements [vfs.FileMemoryMapper].
func (f *diskFile) MemoryMapper() vfs.MemoryMapper {
	if file, ok := f.File.(vfs.FileMemoryMapper); ok {
		return file.MemoryMapper()
	}
	return nil
}

// LockState implements [vfs.FileLockState].
func (f *diskFile) LockState() vfs.LockLevel {
	if file, ok := f.File.(vfs.FileLockState); ok {
		return file.LockState()
	}
	return vfs.LOCK_EXCLUSIVE + 1 // which the driver takes for "unknown"
}

// HasMoved implements [vfs.FileHasMoved]. It asks the system what the name leads to, and not
// each time which file is open, as the driver does.
func (f *diskFile) HasMoved() (bool, error) {
	below, ok := f.File.(vfs.FileHasMoved)
	if !ok {
		return false, sqlite3.NOTFOUND
	}
	system, ok := below.(systemFile)
	if !ok || runtime.GOOS == "windows" { // where open files cannot be moved
		return below.HasMoved()
	}
	if f.is == nil {
		is, err := system.Stat()
		if err != nil {
			return false, err
		}
		f.is = is
	}
	return !file.IsSame(system.Name(), f.is), nil
}

// systemFile is what a file of the operating system can do in the driver: it is an [os.File].
type systemFile interface {
	Name() string
	Stat() (os.FileInfo, error)
}

// SizeHint implements [vfs.FileSizeHint]. SQLite ignores its errors.
func (f *diskFile) SizeHint(size int64) error {
	if file, ok := f.File.(vfs.FileSizeHint); ok && !f.isKept() {
		return file.SizeHint(size)
	}
	return sqlite3.NOTFOUND
}

// PersistWAL implements [vfs.FilePersistWAL].
func (f *diskFile) PersistWAL() bool {
	file, ok := f.File.(vfs.FilePersistWAL)
	return ok && file.PersistWAL()
}

// SetPersistWAL implements [vfs.FilePersistWAL].
func (f *diskFile) SetPersistWAL(keep bool) {
	if file, ok := f.File.(vfs.FilePersistWAL); ok {
		file.SetPersistWAL(keep)
	}
}

// PowersafeOverwrite implements [vfs.FilePowersafeOverwrite].
func (f *diskFile) PowersafeOverwrite() bool {
	file, ok := f.File.(vfs.FilePowersafeOverwrite)
	return ok && file.PowersafeOverwrite()
}

// SetPowersafeOverwrite implements [vfs.FilePowersafeOverwrite].
func (f *diskFile) SetPowersafeOverwrite(safe bool) {
	if file, ok := f.File.(vfs.FilePowersafeOverwrite); ok {
		file.SetPowersafeOverwrite(safe)
	}
}

// BeginAtomicWrite implements [vfs.FileBatchAtomicWrite], which some file
// systems of Linux can do.
func (f *diskFile) BeginAtomicWrite() error {
	if file, ok := f.File.(vfs.FileBatchAtomicWrite); ok {
		return file.BeginAtomicWrite()
	}
	return sqlite3.NOTFOUND
}

// CommitAtomicWrite implements [vfs.FileBatchAtomicWrite].
func (f *diskFile) CommitAtomicWrite() error {
	if file, ok := f.File.(vfs.FileBatchAtomicWrite); ok {
		return file.CommitAtomicWrite()
	}
	return sqlite3.NOTFOUND
}

// RollbackAtomicWrite implements [vfs.FileBatchAtomicWrite].
func (f *diskFile) RollbackAtomicWrite() error {
	if file, ok := f.File.(vfs.FileBatchAtomicWrite); ok {
		return file.RollbackAtomicWrite()
	}
	return sqlite3.NOTFOUND
}

// noFile stands for a file that does not exist and is not to be created.
type noFile struct{}

func (noFile) Close() error                                    { return nil }
func (noFile) ReadAt([]byte, int64) (int, error)               { return 0, io.EOF }
func (noFile) WriteAt([]byte, int64) (int, error)              { return 0, sqlite3.READONLY }
func (noFile) Truncate(int64) error                            { return sqlite3.READONLY }
func (noFile) Sync(vfs.SyncFlag) error                         { return nil }
func (noFile) Size() (int64, error)                            { return 0, nil }
func (noFile) Lock(vfs.LockLevel) error                        { return nil }
func (noFile) Unlock(vfs.LockLevel) error                      { return nil }
func (noFile) CheckReservedLock() (bool, error)                { return false, nil }
func (noFile) SectorSize() int                                 { return 4096 }
func (noFile) DeviceCharacteristics() vfs.DeviceCharacteristic { return 0 }
