//go:build !windows

package fault

import "syscall"

// IsOutOfSpace reports whether an error number says that there is no space left:
// on the disk, or for this user.
func IsOutOfSpace(errno syscall.Errno) bool {
	return errno == syscall.ENOSPC || errno == syscall.EDQUOT
}

// writeProtected reports whether an error number says that nothing may be
// written to the disk, whoever asks.
func writeProtected(errno syscall.Errno) bool { return errno == syscall.EROFS }
