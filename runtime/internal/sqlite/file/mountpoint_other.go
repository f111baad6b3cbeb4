//go:build !linux

package file

// isMountPoint is for Linux: elsewhere a single file cannot be mounted.
func isMountPoint(string) bool { return false }
