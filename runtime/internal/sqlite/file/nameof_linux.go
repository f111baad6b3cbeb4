package file

import (
	"os"
	"path/filepath"
	"strconv"
)

// NameOf returns the name that an open file has now, or "" if that cannot be known. It may have been renamed.
func NameOf(open *os.File) (name string) {
	raw, err := open.SyscallConn()
	if err != nil {
		return ""
	}
	raw.Control(func(handle uintptr) {
		name, _ = os.Readlink(filepath.Join("/proc/self/fd", strconv.FormatUint(uint64(handle), 10)))
	})
	is, err := open.Stat()
	if err != nil || !IsSame(name, is) { // in another container, or deleted
		return ""
	}
	return name
}
