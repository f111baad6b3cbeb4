//go:build unix

package emit

import (
	"io/fs"
	"os"
	"syscall"
)

// inherit gives a new file the permissions of the one that it replaces, and its owner if this process may do
// that, which is root's.
func inherit(file *os.File, have fs.FileInfo) error {
	if stat, ok := have.Sys().(*syscall.Stat_t); ok {
		file.Chown(int(stat.Uid), int(stat.Gid))
	}
	return file.Chmod(have.Mode().Perm())
}

// isOurs tells whether a file belongs to the user of this process, or to anybody if that is root.
func isOurs(have fs.FileInfo) bool {
	stat, ok := have.Sys().(*syscall.Stat_t)
	return !ok || os.Geteuid() == 0 || int(stat.Uid) == os.Geteuid()
}
