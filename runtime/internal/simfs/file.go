package simfs

import (
	"io"
	"slices"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// file is an open file. SQLite sees the same sector size and characteristics as for
// the driver's own files on Linux, and no memory mapping.
type file struct {
	fs    *FS // nil for a file without a name
	name  string
	disk  *disk
	index vfs.SharedMemory
	level vfs.LockLevel
}

var (
	_ vfs.FileSharedMemory = (*file)(nil)
	_ vfs.FileSizeHint     = (*file)(nil)
	_ vfs.FileLockState    = (*file)(nil)
)

// begin locks the file system, counts an operation, and decides whether it fails.
func (f *file) begin(op Op) (extent Extent, unlock func(), err error) {
	if f.fs == nil {
		return All, func() {}, nil
	}
	f.fs.mu.Lock()
	extent, err = f.fs.begin(op, f.name)
	return extent, f.fs.mu.Unlock, err
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	_, unlock, err := f.begin(Read)
	defer unlock()
	if err != nil {
		return 0, err
	}
	if off >= int64(len(f.disk.now)) {
		return 0, io.EOF
	}
	n := copy(p, f.disk.now[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	extent, unlock, err := f.begin(Write)
	defer unlock()
	n := len(p)
	switch extent {
	case Nothing:
		n = 0
	case Half:
		n /= 2
	}
	if n > 0 {
		f.disk.change(change{at: off, data: slices.Clone(p[:n])})
	}
	return n, err
}

func (f *file) Truncate(size int64) error {
	extent, unlock, err := f.begin(Truncate)
	defer unlock()
	if extent == All {
		f.disk.change(change{at: size})
	}
	return err
}

// SizeHint extends the file to the size that SQLite is going to need.
func (f *file) SizeHint(size int64) error {
	if now, _ := f.Size(); now >= size {
		return nil
	}
	return f.Truncate(size)
}

func (f *file) Sync(vfs.SyncFlag) error {
	if f.fs != nil {
		f.fs.wait()
	}
	_, unlock, err := f.begin(Sync)
	defer unlock()
	if err != nil {
		if f.fs.forgets {
			f.disk.forget()
		}
		return err
	}
	f.disk.sync()
	if f.fs != nil {
		f.fs.folder.synced(f.disk)
	}
	return nil
}

func (f *file) Size() (int64, error) {
	if f.fs != nil {
		f.fs.mu.Lock()
		defer f.fs.mu.Unlock()
	}
	return int64(len(f.disk.now)), nil
}

func (f *file) Lock(level vfs.LockLevel) error {
	_, unlock, err := f.begin(Lock)
	defer unlock()
	if err == nil && !f.disk.locks.lock(f, level) {
		err = sqlite3.BUSY
	}
	return err
}

// Unlock always succeeds, also without power: a lock ends with its process at the latest.
func (f *file) Unlock(level vfs.LockLevel) error {
	if f.fs != nil {
		f.fs.mu.Lock()
		defer f.fs.mu.Unlock()
	}
	f.disk.locks.unlock(f, level)
	return nil
}

func (f *file) CheckReservedLock() (bool, error) {
	_, unlock, err := f.begin(Lock)
	defer unlock()
	return f.disk.locks.writing != nil, err
}

func (f *file) LockState() vfs.LockLevel { return f.level }

func (f *file) Close() error {
	if f.index != nil {
		f.index.Close()
	}
	return f.Unlock(vfs.LOCK_NONE)
}

func (f *file) SharedMemory() vfs.SharedMemory { return f.index }

func (f *file) SectorSize() int { return 4096 }

func (f *file) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return vfs.IOCAP_POWERSAFE_OVERWRITE | vfs.IOCAP_SUBPAGE_READ
}
