//go:build linux || darwin

package locks

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

// CanLockDatabase says that the file itself can be locked here.
const CanLockDatabase = true

// LockOwner locks the byte of file that stands for the dispatching process, or
// returns ErrOwned.
func LockOwner(file *os.File) error { return setLock(file, syscall.F_WRLCK, ownerByte) }

// UnlockOwner gives the lock back.
func UnlockOwner(file *os.File) error { return setLock(file, syscall.F_UNLCK, ownerByte) }

// ownerLocked reports whether somebody holds the lock, without taking it: whoever
// wants to begin to dispatch is not disturbed.
func ownerLocked(file *os.File) (bool, error) { return locked(file, syscall.F_RDLCK, ownerByte, 1) }

// setLock locks or unlocks one byte of file, or returns ErrOwned.
func setLock(file *os.File, kind int16, at int64) error {
	_, set := ofd()
	return fcntl(file, set, &syscall.Flock_t{Type: kind, Start: at, Len: 1})
}

// locked reports whether a lock of this kind would be refused for these bytes of file,
// because somebody else holds one. It takes none.
func locked(file *os.File, kind int16, start, length int64) (bool, error) {
	get, _ := ofd()
	lock := syscall.Flock_t{Type: kind, Start: start, Len: length}
	err := fcntl(file, get, &lock)
	return lock.Type != syscall.F_UNLCK, err
}

// ofd returns the commands of fcntl, which package syscall does not have.
func ofd() (getLock, setLock int) {
	if runtime.GOOS == "darwin" {
		return 92, 90
	}
	return 36, 37
}

func fcntl(file *os.File, command int, lock *syscall.Flock_t) error {
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
			return ErrOwned
		default:
			return &os.PathError{Op: "lock", Path: file.Name(), Err: err}
		}
	}
}
