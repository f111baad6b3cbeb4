package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// errOwned says that another process, or another log of this one, holds the lock.
var errOwned = errors.New("the file is locked by the process that dispatches")

// ownerByte is the byte of the database whose lock the dispatching process holds. It
// is far behind what a database can have, and SQLite's own locks are at 1 GiB.
const ownerByte int64 = 1 << 60

// lookTime is longer than anybody takes who only looks whether there is an owner
// ([owned]), and has to take the lock for that.
const lookTime = 2 * time.Millisecond

// withHandle calls f with the system's handle of a file, which stays open meanwhile,
// or returns an error because it is closed.
func withHandle(file *os.File, f func(handle uintptr)) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(f)
}

// owned tells whether a process dispatches from the file at path. The lock is
// the only witness: a pid may be that of another process by now, or of another
// container.
func owned(path string) (bool, error) {
	if ownerLocks && mounted(path) == "" {
		file, err := os.Open(path)
		if err != nil {
			return false, err
		}
		defer file.Close()
		return ownerLocked(file)
	}
	path += claimsSuffix
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	file, err := openLocked(path)
	if errors.Is(err, errOwned) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, file.Close()
}
