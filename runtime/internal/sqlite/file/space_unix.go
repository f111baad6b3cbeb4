//go:build linux || darwin

package file

import (
	"os"

	"golang.org/x/sys/unix"
)

// freeSpace returns how many bytes this user can still write. A part of some file systems is for root alone.
func freeSpace(folder string) (bytes int64, known bool) {
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil || stat.Blocks == 0 || stat.Flags&readOnly != 0 {
		return 0, false
	}
	blocks := stat.Bavail
	if os.Geteuid() == 0 {
		blocks = stat.Bfree
	}
	if blocks > 1<<30 {
		return 1 << 30, true // no overflow
	}
	return int64(blocks) * int64(stat.Bsize), true
}
