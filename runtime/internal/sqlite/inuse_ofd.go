//go:build linux || darwin

package sqlite

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

// inUse tells whether somebody has the database open, without disturbing anyone.
func inUse(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	return locked(file, sharedFirst, sharedSize)
}

func locked(file *os.File, start, length int64) (bool, error) {
	getLock, _ := ofd()
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: start, Len: length}
	err := ownerLock(file, getLock, &lock)
	return lock.Type != syscall.F_UNLCK, err
}

// pin keeps the index valid that others use now, until the file is closed: the
// driver would make a new one if they ended at this moment. It returns nil if
// nobody uses it.
func pin(path string) *os.File {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	_, setLock := ofd()
	if valid, err := locked(file, indexValid, 1); err != nil || !valid ||
		ownerLock(file, setLock, &syscall.Flock_t{Type: syscall.F_RDLCK, Start: indexValid, Len: 1}) != nil {
		file.Close()
		return nil
	}
	return file
}
