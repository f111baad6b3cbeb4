//go:build !windows && (!unix || solaris || illumos || aix)

package locks

import (
	"errors"
	"os"
	"runtime"
)

// OpenLocked returns an error: there is no lock that ends with the process.
func OpenLocked(string) (*os.File, error) {
	return nil, errors.New("dispatching is not supported on " + runtime.GOOS + ": it has no file locks that end with the process")
}
