//go:build linux || darwin

package locks

import (
	"os"
	"syscall"
)

// These are SQLite's own locks. Whoever has a database open in WAL mode holds a
// shared one on it, and another on the index of its write-ahead log, which says
// that the index is valid.
const (
	sharedFirst, sharedSize = 0x40000002, 510
	indexValid              = 128
)

// CanLook says that the locks can be looked at here.
const CanLook = true

// InUse reports whether somebody has the database open, without disturbing anyone.
func InUse(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	return locked(file, syscall.F_WRLCK, sharedFirst, sharedSize)
}

// Exclusive reports whether another program keeps everybody out of the database, which then needs no index.
func Exclusive(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	return locked(file, syscall.F_RDLCK, sharedFirst, sharedSize)
}

// IndexInUse reports whether somebody uses the index of a write-ahead log. Whoever does has its database
// open, too, and for longer: a connection opens the database first, and closes it last.
func IndexInUse(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	return locked(file, syscall.F_WRLCK, indexValid, 1)
}

// PinIndex keeps the index valid that others use now, until the file is closed: the
// driver would make a new one if they ended at this moment. It returns nil if
// nobody uses it.
func PinIndex(path string) *os.File {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	if valid, err := locked(file, syscall.F_WRLCK, indexValid, 1); err != nil || !valid || setLock(file, syscall.F_RDLCK, indexValid) != nil {
		file.Close()
		return nil
	}
	return file
}
