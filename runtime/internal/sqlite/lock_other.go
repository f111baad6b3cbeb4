//go:build !windows && (!unix || solaris || illumos || aix)

package sqlite

import (
	"errors"
	"os"
	"runtime"
)

// openLocked has no lock to offer that ends with the process.
func openLocked(string) (*os.File, error) {
	return nil, errors.New("dispatching is not supported on " + runtime.GOOS + ": it has no file locks that end with the process")
}
