package sqlite

import (
	"errors"
	"sync"

	"github.com/ncruces/go-sqlite3"
)

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

// LockOut takes the lock of the file at path that every writer needs, as another
// process may do, until unlock is called.
func LockOut(path string) (unlock func(), err error) {
	c, err := connect(path, "", sqlite3.OPEN_READWRITE)
	if err != nil {
		return nil, err
	}
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return nil, errors.Join(storageError("lock", path, err), c.shut())
	}
	return func() { c.shut() }, nil // which rolls back
}

// locate returns the one name of a file, and the file layer that has it: "" for
// that of the system. It refuses a file that is not alone or not complete.
func locate(path, vfsName string) (string, string, error) {
	if vfsName == "" {
		vfsName = mounted(path)
	}
	if vfsName != "" {
		return path, vfsName, nil
	}
	path, err := resolve(path)
	if err == nil {
		err = complete(path)
	}
	return path, "", err
}

// mounted returns the file layer of the file at path, or "" for the system's own.
func mounted(path string) string {
	if name, ok := mounts.Load(path); ok {
		return name.(string)
	}
	return ""
}
