//go:build unix

package file

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// CreateBeside makes an empty file beside the one at path, with its mode and, if
// this is root, its owner. One that is there stays as it is.
func CreateBeside(path, suffix string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	// Closed to others until it is theirs; and never through a link.
	file, err := os.OpenFile(path+suffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	return errors.Join(GiveTo(file, info), file.Close())
}

// GiveTo gives a file the mode of another one and, if this is root, its owner.
func GiveTo(file *os.File, like os.FileInfo) error {
	err := file.Chmod(like.Mode().Perm())
	if stat, ok := like.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		err = errors.Join(err, file.Chown(int(stat.Uid), int(stat.Gid)))
	}
	return err
}
