//go:build !windows

package sqlite

import "syscall"

// outOfSpace reports whether an error number says that there is no space left:
// on the disk, or for this user.
func outOfSpace(errno syscall.Errno) bool { return errno == syscall.ENOSPC || errno == syscall.EDQUOT }

// writeProtected reports whether an error number says that nothing may be
// written to the disk, whoever asks.
func writeProtected(errno syscall.Errno) bool { return errno == syscall.EROFS }
