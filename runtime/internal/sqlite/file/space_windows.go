package file

import (
	"math"

	"golang.org/x/sys/windows"
)

// freeSpace returns how many bytes this user can still write.
func freeSpace(folder string) (bytes int64, known bool) {
	name, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0, false
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, false
	}
	return int64(min(free, math.MaxInt64)), true
}
