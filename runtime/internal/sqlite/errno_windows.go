package sqlite

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// outOfSpace reports whether an error number says that there is no space left:
// on the disk, or for this user.
func outOfSpace(errno syscall.Errno) bool {
	switch errno {
	case windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED:
		return true
	}
	return false
}

// writeProtected reports whether an error number says that nothing may be
// written to the disk, whoever asks.
func writeProtected(errno syscall.Errno) bool { return errno == windows.ERROR_WRITE_PROTECT }
