//go:build !unix

package output

import (
	"io/fs"
	"os"
)

// inherit gives a new file the permissions of the one that it replaces.
func inherit(file *os.File, have fs.FileInfo) error {
	return file.Chmod(have.Mode().Perm())
}

func isOurs(fs.FileInfo) bool { return true }
