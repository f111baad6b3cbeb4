package file

import "golang.org/x/sys/unix"

func networkName(folder string) string {
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil || stat.Flags&unix.MNT_LOCAL != 0 {
		return ""
	}
	return unix.ByteSliceToString(stat.Fstypename[:])
}
