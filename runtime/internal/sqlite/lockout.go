package sqlite

import (
	"errors"

	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/ncruces/go-sqlite3"
)

// LockOut takes the lock of the file at path that every writer needs, as another
// process may do, until unlock is called.
func LockOut(path string) (unlock func(), err error) {
	c, err := connect(path, "", sqlite3.OPEN_READWRITE)
	if err != nil {
		return nil, err
	}
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return nil, errors.Join(fault.Wrap("lock", path, err), c.shut())
	}
	return func() { c.shut() }, nil // which rolls back
}
