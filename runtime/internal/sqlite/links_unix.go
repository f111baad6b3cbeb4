//go:build unix

package sqlite

import (
	"os"
	"syscall"
)

// hardLinks returns how many names the file at path has in its file system; 0 if
// that cannot be found out.
func hardLinks(path string) uint64 {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() { // a folder has several
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(stat.Nlink)
}
