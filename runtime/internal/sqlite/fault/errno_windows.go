package fault

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// IsOutOfSpace reports whether an error number says that there is no space left:
// on the disk, or for this user.
func IsOutOfSpace(errno syscall.Errno) bool {
	switch errno {
	case windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED:
		return true
	}
	return false
}

// writeProtected reports whether an error number says that nothing may be
// written to the disk, whoever asks.
func writeProtected(errno syscall.Errno) bool { return errno == windows.ERROR_WRITE_PROTECT }
