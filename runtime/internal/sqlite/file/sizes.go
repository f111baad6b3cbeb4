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
