package locks

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// CanLockDatabase says that the file itself can be locked here.
const CanLockDatabase = true

// LockOwner locks the byte of file that stands for the dispatching process, or
// returns ErrOwned. The system drops the lock when the process ends.
func LockOwner(file *os.File) error {
	var err error
	if withHandle(file, func(handle uintptr) {
		err = windows.LockFileEx(windows.Handle(handle), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, ownerRange())
	}) != nil {
		return engine.ErrClosed
	}
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrOwned
	}
	return err
}

// UnlockOwner gives the lock back.
func UnlockOwner(file *os.File) error {
	var err error
	if withHandle(file, func(handle uintptr) { err = windows.UnlockFileEx(windows.Handle(handle), 0, 1, 0, ownerRange()) }) != nil {
		return engine.ErrClosed
	}
	return err
}

// ownerLocked tells whether somebody holds the lock. It takes the lock for a
// moment, which is why the claims file is opened twice.
func ownerLocked(file *os.File) (bool, error) {
	switch err := LockOwner(file); {
	case errors.Is(err, ErrOwned):
		return true, nil
	case err != nil:
		return false, err
	}
	return false, UnlockOwner(file)
}

func ownerRange() *windows.Overlapped {
	return &windows.Overlapped{Offset: uint32(ownerByte & 0xffffffff), OffsetHigh: uint32(ownerByte >> 32)}
}
