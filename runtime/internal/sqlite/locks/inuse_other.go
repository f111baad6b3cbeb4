//go:build !linux && !darwin

package locks

import (
	"errors"
	"os"

	"github.com/busgen/busgen/runtime/internal/sqlite/file"
)

// CanLook says that the locks cannot be looked at here.
const CanLook = false

// InUse reports whether somebody may have the database open: nobody has if there is
// no index of its write-ahead log. Here the locks cannot be looked at, so that an
// index that a killed process has left is made anew.
func InUse(path string) (bool, error) {
	_, err := os.Stat(path + file.IndexSuffix)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Exclusive reports false: it cannot be known.
func Exclusive(string) (bool, error) { return false, nil }

// IndexInUse reports false: it cannot be known.
func IndexInUse(string) (bool, error) { return false, nil }

func PinIndex(string) *os.File { return nil }
