package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// ownerLocks says that the file itself can be locked here.
const ownerLocks = true

// lockOwner locks the byte of file that stands for the dispatching process, or
// returns errOwned. The system drops the lock when the process ends.
func lockOwner(file *os.File) error {
	var err error
	if withHandle(file, func(handle uintptr) {
		err = windows.LockFileEx(windows.Handle(handle), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, ownerRange())
	}) != nil {
		return engine.ErrClosed
	}
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errOwned
	}
	return err
}

// unlockOwner gives the lock back.
func unlockOwner(file *os.File) error {
	var err error
	if withHandle(file, func(handle uintptr) { err = windows.UnlockFileEx(windows.Handle(handle), 0, 1, 0, ownerRange()) }) != nil {
		return engine.ErrClosed
	}
	return err
}

// ownerLocked tells whether somebody holds the lock. It takes the lock for a
// moment, which is why [claims.own] tries twice.
func ownerLocked(file *os.File) (bool, error) {
	switch err := lockOwner(file); {
	case errors.Is(err, errOwned):
		return true, nil
	case err != nil:
		return false, err
	}
	return false, unlockOwner(file)
}

func ownerRange() *windows.Overlapped {
	return &windows.Overlapped{Offset: uint32(ownerByte & 0xffffffff), OffsetHigh: uint32(ownerByte >> 32)}
}
