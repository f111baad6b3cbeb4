package database

import (
	"errors"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// LockOut takes the lock of the file at path that every writer needs, as another
// process may do, until unlock is called.
func LockOut(path string) (unlock func(), err error) {
	c, err := Connect(path, "", sqlite3.OPEN_READWRITE)
	if err != nil {
		return nil, err
	}
	if err := c.ExecScript("BEGIN IMMEDIATE"); err != nil {
		return nil, errors.Join(fault.Wrap("lock", path, err), c.Close())
	}
	return func() { c.Close() }, nil // which rolls back
}
