package file

import "sync"

// mounts are the files that are not on a disk of the system: path → name of
// the driver's file layer that has it.
var mounts sync.Map

// Mount makes the file at path one of a file layer of the driver, for everybody
// in this process who opens it by that path, until unmount is called. It lets
// users test on a disk in memory.
func Mount(path, vfsName string) (unmount func()) {
	mounts.Store(path, vfsName)
	return func() { mounts.CompareAndDelete(path, vfsName) }
}

// Mounted returns the file layer of the file at path, or "" for the system's own.
func Mounted(path string) string {
	if name, ok := mounts.Load(path); ok {
		return name.(string)
	}
	return ""
}
