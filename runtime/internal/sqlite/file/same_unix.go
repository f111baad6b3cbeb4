//go:build unix

package file

import (
	"os"
	"syscall"
)

// leadsTo is [os.Stat] and [os.SameFile], without the memory that they need.
func leadsTo(path string, before os.FileInfo) (same bool, err error) {
	is, ok := before.Sys().(*syscall.Stat_t)
	if !ok {
		return true, nil
	}
	var now syscall.Stat_t
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = syscall.Stat(path, &now)
	}
	return err == nil && now.Dev == is.Dev && now.Ino == is.Ino, err
}
