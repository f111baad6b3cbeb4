//go:build !linux && !darwin && !windows

package sqlite

import "os"

// ownerLocks says that the file itself cannot be locked here: locks are about
// processes, and end when the process closes any of its files. The lock of the
// claims file stands for it.
const ownerLocks = false

func lockOwner(*os.File) error { return nil }

func unlockOwner(*os.File) error { return nil }

func ownerLocked(*os.File) (bool, error) { return false, nil }
