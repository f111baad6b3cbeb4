package sqlite

import (
	"errors"
	"io/fs"
	"os"
)

// sizeOf is 0 for a file that does not exist.
func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// isFile tells whether path leads to a file that was there before. What cannot be
// found out is taken for a yes.
func isFile(path string, before os.FileInfo) bool {
	now, err := os.Stat(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return os.SameFile(now, before)
}
