package simfs

import (
	"maps"
	"slices"

	"github.com/ncruces/go-sqlite3/vfs"
)

// disk is the contents of one file.
type disk struct {
	now     []byte   // as the process sees it
	durable []byte   // what survives every power cut
	pending []change // from durable to now
	locks   locks
}

// change is a write, or with nil data a truncation or extension.
type change struct {
	at        int64 // the offset, or the new size
	data      []byte
	forgotten bool // a sync of it has failed
}

func (d *disk) change(c change) {
	d.now = c.apply(d.now)
	d.pending = append(d.pending, c)
}

// sync makes everything durable.
func (d *disk) sync() {
	for _, c := range d.pending {
		if !c.forgotten {
			d.durable = c.apply(d.durable)
		}
	}
	d.pending = nil
}

// forget makes all later syncs skip the pending changes, as after a failed sync on
// Linux.
func (d *disk) forget() {
	for i := range d.pending {
		d.pending[i].forgotten = true
	}
}

// apply returns the contents after the change.
func (c change) apply(content []byte) []byte {
	if c.data == nil {
		return resize(content, c.at)
	}
	if end := c.at + int64(len(c.data)); end > int64(len(content)) {
		content = resize(content, end)
	}
	copy(content[c.at:], c.data)
	return content
}

// resize cuts content, or extends it with zeros.
func resize(content []byte, size int64) []byte {
	if more := size - int64(len(content)); more > 0 {
		return append(content, make([]byte, more)...)
	}
	return content[:size:size]
}

// folder has the names of the files.
type folder struct {
	now     map[string]*disk
	durable map[string]*disk
	pending []naming // from durable to now
}

// naming is the creation of a file, or its deletion if disk is nil.
type naming struct {
	name string
	disk *disk
}

func newFolder(image Image) folder {
	f := folder{now: map[string]*disk{}}
	for name, content := range image {
		f.now[name] = &disk{now: slices.Clone(content), durable: slices.Clone(content)}
	}
	f.durable = maps.Clone(f.now)
	return f
}

func (f *folder) put(name string, d *disk) {
	n := naming{name, d}
	n.apply(f.now)
	f.pending = append(f.pending, n)
}

func (n naming) apply(names map[string]*disk) {
	if n.disk == nil {
		delete(names, n.name)
	} else {
		names[n.name] = n.disk
	}
}

// sync makes all names durable.
func (f *folder) sync() {
	f.durable, f.pending = maps.Clone(f.now), nil
}

// synced makes the name of a synced file durable, and with it all earlier changes of
// the folder. File systems with a journal do so, and the driver relies on it.
func (f *folder) synced(d *disk) {
	for i, n := range slices.Backward(f.pending) {
		if n.disk == d {
			for _, n := range f.pending[:i+1] {
				n.apply(f.durable)
			}
			f.pending = slices.Clone(f.pending[i+1:])
			return
		}
	}
}

// locks holds SQLite's locks on one file. It has any number of readers. One of them
// may prepare to write, and then waits until the others have left.
type locks struct {
	shared  int // connections at LOCK_SHARED or above
	writing *file
}

// lock raises f's lock to level. It returns false if another file holds the lock.
func (l *locks) lock(f *file, level vfs.LockLevel) bool {
	switch {
	case level <= f.level:
		return true
	case level == vfs.LOCK_SHARED:
		if l.writing != nil && l.writing.level > vfs.LOCK_RESERVED {
			return false
		}
		l.shared++
	case l.writing != nil && l.writing != f:
		return false
	case level == vfs.LOCK_RESERVED:
		l.writing = f
	default:
		l.writing = f
		if l.shared > 1 {
			f.level = vfs.LOCK_PENDING
			return false
		}
	}
	f.level = level
	return true
}

// unlock lowers f's lock.
func (l *locks) unlock(f *file, level vfs.LockLevel) {
	if level >= f.level {
		return
	}
	if l.writing == f {
		l.writing = nil
	}
	if level == vfs.LOCK_NONE {
		l.shared--
	}
	f.level = level
}
