package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// linkError reports a symbolic link through which nothing is written.
func linkError(path string) error {
	to, err := os.Readlink(path)
	if err != nil {
		to = "somewhere else"
	}
	return fmt.Errorf("%s is a symbolic link to %s, and what is generated stays in its folder: remove the link", path, to)
}

// target returns the file to change if a user names path: the target of a symbolic link, so that the link
// remains. A broken link is an error.
func target(path string) (string, error) {
	followed, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return followed, err
	}
	if isLink(path) {
		to, _ := os.Readlink(path)
		return "", fmt.Errorf("%s is a symbolic link to %s, which does not exist: remove the link, or name another file", path, to)
	}
	return path, nil
}
