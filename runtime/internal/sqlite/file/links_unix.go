//go:build unix

package file

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
	return Links(info)
}

// Links returns how many names an open file has; 0 if it was deleted.
func Links(info os.FileInfo) uint64 {
	return uint64(info.Sys().(*syscall.Stat_t).Nlink)
}
