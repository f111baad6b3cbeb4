package simfs

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// Op is a kind of operation on files. Values can be combined with |.
type Op uint8

// The operations.
const (
	Open Op = 1 << iota
	Read
	Write
	Truncate // also to a larger size
	Sync
	Delete
	Lock

	// Changes are the operations that a disk notices.
	Changes = Write | Truncate | Sync | Delete
)

// FS is one simulated file system, known to the driver by its Name. All
// methods are safe for concurrent use.
type FS struct {
	name    string
	indexes string // the real folder of write-ahead log indexes

	mu     sync.Mutex
	folder folder
	counts map[Op]int
	cut    int // changes left until the power fails; 0 for never
	dead   bool
	fault  *Fault
	failed int
	// forgets is set while an operation fails whose fault has Forget.
	forgets bool
	held    chan struct{} // syncs wait until it is closed
	slow    time.Duration // how long a sync takes
}

// Image maps the names of files to their contents.
type Image map[string][]byte

var serial atomic.Int64

// New returns a file system with the files of image, all synced, and registers it
// with the driver. dir is a real folder for the indexes of write-ahead logs.
func New(dir string, image Image) *FS {
	f := &FS{
		name:    fmt.Sprintf("simfs-%d", serial.Add(1)),
		indexes: dir,
		folder:  newFolder(image),
		counts:  map[Op]int{},
	}
	vfs.Register(f.name, f)
	return f
}

// Name returns the name that is registered with the driver: the value of the
// parameter vfs in the URI of a database.
func (f *FS) Name() string { return f.name }

// Unregister removes the file system from the driver. Close all connections first.
func (f *FS) Unregister() { vfs.Unregister(f.name) }

// Count returns the number of operations of the given kinds, failed ones included.
func (f *FS) Count(ops Op) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for op, count := range f.counts {
		if op&ops != 0 {
			n += count
		}
	}
	return n
}

// Hold blocks syncs until release is called. So a test can queue work behind a sync.
func (f *FS) Hold() (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	held := make(chan struct{})
	f.held = held
	return func() {
		f.mu.Lock()
		f.held = nil
		f.mu.Unlock()
		close(held)
	}
}

// Slow makes every sync take d; 0 makes syncs immediate again.
func (f *FS) Slow(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slow = d
}

// wait blocks a sync for Hold and Slow.
func (f *FS) wait() {
	f.mu.Lock()
	held, slow := f.held, f.slow
	f.mu.Unlock()
	if held != nil {
		<-held
	}
	if slow > 0 {
		time.Sleep(slow)
	}
}

// Open implements [vfs.VFS]. A file without a name is temporary: it is private, it
// is gone after Close, and faults do not apply to it.
func (f *FS) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if name == "" {
		return &file{disk: &disk{}}, flags, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.begin(Open, name); err != nil {
		return nil, flags, err
	}
	d := f.folder.now[name]
	switch {
	case d == nil && flags&vfs.OPEN_CREATE == 0:
		return nil, flags, sqlite3.CANTOPEN
	case d != nil && flags&vfs.OPEN_EXCLUSIVE != 0:
		return nil, flags, sqlite3.CANTOPEN
	case d == nil:
		d = &disk{}
		f.folder.put(name, d)
	}
	opened := &file{fs: f, name: name, disk: d}
	if flags&vfs.OPEN_MAIN_DB != 0 {
		opened.index = vfs.NewSharedMemory(filepath.Join(f.indexes, f.name+"-"+filepath.Base(name)+"-shm"), flags)
	}
	return opened, flags, nil
}

// Delete implements [vfs.VFS].
func (f *FS) Delete(name string, syncDir bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	extent, err := f.begin(Delete, name)
	if err == nil && f.folder.now[name] == nil {
		return vfs.SystemError(fs.ErrNotExist, sqlite3.IOERR_DELETE_NOENT)
	}
	if extent != Nothing && f.folder.now[name] != nil {
		f.folder.put(name, nil)
	}
	if err == nil && syncDir {
		f.folder.sync()
	}
	return err
}

// Access implements [vfs.VFS]. It reports whether a file exists.
func (f *FS) Access(name string, _ vfs.AccessFlag) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return false, sqlite3.IOERR_ACCESS
	}
	return f.folder.now[name] != nil, nil
}

// FullPathname implements [vfs.VFS]. It returns the name unchanged: there are no folders.
func (f *FS) FullPathname(name string) (string, error) { return name, nil }

// Kill returns the files as another process finds them after this one was killed:
// with everything that was written.
func (f *FS) Kill() Image {
	f.mu.Lock()
	defer f.mu.Unlock()
	image := Image{}
	for name, d := range f.folder.now {
		image[name] = slices.Clone(d.now)
	}
	return image
}

// names returns the keys of m in order, so that a seed always has the same effect.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
