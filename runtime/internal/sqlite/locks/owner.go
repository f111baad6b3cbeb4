// Package locks takes and reads the locks on the files of a log. One byte of the database
// says which process dispatches (LockOwner, IsOwned). SQLite's own locks say whether any
// process has the database open (InUse). The operating system drops a lock when its process
// ends, however it ends.
package locks

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/busgen/busgen/runtime/internal/sqlite/file"
)

// ErrOwned says that another process, or another log of this one, holds the lock.
var ErrOwned = errors.New("the file is locked by the process that dispatches")

// ownerByte is the byte of the database whose lock the dispatching process holds. It
// is far behind what a database can have, and SQLite's own locks are at 1 GiB.
const ownerByte int64 = 1 << 60

// LookTime is longer than anybody takes who only looks whether there is an owner
// ([IsOwned]), and has to take the lock for that.
const LookTime = 2 * time.Millisecond

// withHandle calls f with the system's handle of a file, which stays open meanwhile,
// or returns an error because it is closed.
func withHandle(file *os.File, f func(handle uintptr)) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(f)
}

// IsOwned reports whether a process dispatches from the file at path. The lock is
// the only witness: a pid may be that of another process by now, or of another
// container.
func IsOwned(path string) (bool, error) {
	if CanLockDatabase && file.Mounted(path) == "" {
		file, err := os.Open(path)
		if err != nil {
			return false, err
		}
		defer file.Close()
		return ownerLocked(file)
	}
	path += file.ClaimsSuffix
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	file, err := OpenLocked(path)
	if errors.Is(err, ErrOwned) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, file.Close()
}
