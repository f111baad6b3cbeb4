//go:build unix && !solaris && !illumos && !aix

package locks

import (
	"errors"
	"os"
	"syscall"
)

// OpenLocked opens the file, creating it, and locks it against every other
// open of it, in this process and in others.
func OpenLocked(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrOwned
		}
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return file, nil
}
