package file

import (
	"errors"
	"io/fs"
	"os"
)

// Size returns the size of a file in bytes, and 0 for one that does not exist.
func Size(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// IsSame reports whether path still leads to the file that before describes. What cannot
// be found out is taken for a yes.
func IsSame(path string, before os.FileInfo) bool {
	now, err := os.Stat(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return os.SameFile(now, before)
}
