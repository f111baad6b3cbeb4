package file

import "path/filepath"

// Full reports whether the file system of a file has no space for so many bytes more. It is false if the system does
// not say, and on a file system that is read-only. Quotas are not looked at.
func Full(path string, bytes int64) bool {
	free, known := space(filepath.Dir(path))
	return known && free < bytes
}

// space is replaced by tests.
var space = freeSpace
