//go:build linux || darwin

package sqlite

import (
	"errors"
	"os"
	"runtime"
	"syscall"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// The lock is one of an open file description: it is about the file itself and not
// about a name, other opens of the file in the same process do not disturb it,
// and the system drops it when the process ends.

// ownerLocks says that the file itself can be locked here.
const ownerLocks = true

// ofd returns the commands of fcntl, which package syscall does not have.
func ofd() (getLock, setLock int) {
	if runtime.GOOS == "darwin" {
		return 92, 90
	}
	return 36, 37
}

// lockOwner locks the byte of file that stands for the dispatching process, or
// returns errOwned.
func lockOwner(file *os.File) error {
	_, setLock := ofd()
	return ownerLock(file, setLock, &syscall.Flock_t{Type: syscall.F_WRLCK, Start: ownerByte, Len: 1})
}

// unlockOwner gives the lock back.
func unlockOwner(file *os.File) error {
	_, setLock := ofd()
	return ownerLock(file, setLock, &syscall.Flock_t{Type: syscall.F_UNLCK, Start: ownerByte, Len: 1})
}

// ownerLocked tells whether somebody holds the lock, without taking it: whoever
// wants to begin to dispatch is not disturbed.
func ownerLocked(file *os.File) (bool, error) {
	getLock, _ := ofd()
	lock := syscall.Flock_t{Type: syscall.F_RDLCK, Start: ownerByte, Len: 1}
	err := ownerLock(file, getLock, &lock)
	return lock.Type != syscall.F_UNLCK, err
}

func ownerLock(file *os.File, command int, lock *syscall.Flock_t) error {
	for {
		var err error
		if withHandle(file, func(handle uintptr) { err = syscall.FcntlFlock(handle, command, lock) }) != nil {
			return engine.ErrClosed
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES):
			return errOwned
		default:
			return &os.PathError{Op: "lock", Path: file.Name(), Err: err}
		}
	}
}
