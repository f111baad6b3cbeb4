//go:build unix

package output

import (
	"io/fs"
	"os"
	"syscall"
)

// inherit gives a new file the permissions of the one that it replaces, and also its owner if this process
// may change owners, as root may.
func inherit(file *os.File, have fs.FileInfo) error {
	if stat, ok := have.Sys().(*syscall.Stat_t); ok {
		file.Chown(int(stat.Uid), int(stat.Gid))
	}
	return file.Chmod(have.Mode().Perm())
}

// isOurs reports whether a file belongs to the user of this process. For root, every file does.
func isOurs(have fs.FileInfo) bool {
	stat, ok := have.Sys().(*syscall.Stat_t)
	return !ok || os.Geteuid() == 0 || int(stat.Uid) == os.Geteuid()
}
