package runtimetest

import (
	"io/fs"
	"syscall"
	"time"

	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
)

// Disk is the disk in memory that holds the file of a kit. One fault at a time
// can be switched on; it lasts until [Disk.Heal], a crash, or the end of the test.
// Its methods can be called from any goroutine, one at a time.
type Disk struct {
	kit     *Kit
	dir     string // a real folder, for what is shared memory
	fs      *simfs.FS
	unmount func()
	unlock  func() // what Lock has locked; nil for nothing
}

// insert mounts a disk that holds the image.
func (d *Disk) insert(image simfs.Image) {
	d.fs = simfs.New(d.dir, image)
	d.unmount = file.Mount(d.kit.path, d.fs.Name())
}

// remove ends the mount. A process that has the file open keeps it.
func (d *Disk) remove() {
	d.release()
	d.unmount()
	d.fs.Unregister()
}

// Fill makes the disk full: publishing returns a *[event.StorageError] with the
// fault [event.DiskFull].
func (d *Disk) Fill() { d.fail(simfs.Write|simfs.Truncate, syscall.ENOSPC) }

// Protect makes the disk read-only: publishing returns a *[event.StorageError]
// with the fault [event.ReadOnly].
func (d *Disk) Protect() { d.fail(simfs.Write|simfs.Truncate, syscall.EROFS) }

// Ruin makes writing and syncing fail: publishing returns a
// *[event.StorageError] with the fault [event.IO].
func (d *Disk) Ruin() { d.fail(simfs.Write|simfs.Sync, syscall.EIO) }

// fail makes operations fail as they do in a file of the operating system.
func (d *Disk) fail(op simfs.Op, errno syscall.Errno) {
	d.Heal()
	d.fs.Fail(simfs.Fault{Op: op, Nth: 1, Err: &fs.PathError{Op: "write", Path: d.kit.path, Err: errno}, Sticky: true})
}

// Lock locks the file, like another process that writes and does not end: publishing
// waits for five seconds and returns a *[event.StorageError] with the fault
// [event.Busy].
func (d *Disk) Lock() {
	d.kit.t.Helper()
	d.Heal()
	unlock, err := database.LockOut(d.kit.path)
	d.kit.must("lock the file", err)
	d.unlock = unlock
}

// Slow makes each sync take that long. A bus syncs whenever it stores events, unless
// its durability is [runtime.Normal].
func (d *Disk) Slow(sync time.Duration) {
	d.Heal()
	d.fs.Slow(sync)
}

// CutAfter cuts the power at the nth change of a file from now on; 1 is the next. That
// change and all later ones fail, and the test goes on with [Kit.PowerCut] or
// [Kit.Crash]. With growing n, until [Disk.IsCut] stays false, a test sees a program die
// at every point of its work.
func (d *Disk) CutAfter(n int) {
	d.kit.t.Helper()
	if n < 1 {
		d.kit.t.Fatalf("runtimetest: CutAfter: there is no change number %d; 1 is the next", n)
	}
	d.Heal()
	d.fs.CutAfter(n)
}

// IsCut reports whether the power has failed because of [Disk.CutAfter].
func (d *Disk) IsCut() bool { return d.fs.Dead() }

// Heal ends the fault. The bus then writes the dispositions of handlers within a second.
// Events that were refused are not stored: publish them again.
func (d *Disk) Heal() {
	d.release()
	d.fs.Heal()
	d.fs.Slow(0)
}

// release gives back what Lock has locked.
func (d *Disk) release() {
	if d.unlock != nil {
		d.unlock()
		d.unlock = nil
	}
}
