package file

import "golang.org/x/sys/unix"

// isMountPoint reports whether something is mounted at path, as far as the system
// says so.
func isMountPoint(path string) bool {
	var stat unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_TYPE, &stat)
	return err == nil && stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Attributes&stat.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0
}
