package claims

import (
	"errors"
	"os"
	"time"

	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
)

// Own makes this process the one that dispatches, or returns [locks.ErrOwned]. The
// operating system gives the locks back when the process ends, however it ends.
func (c *File) Own() error {
	if c.Owns() {
		return locks.ErrOwned // by this very log, whose lock must not be given back
	}
	file, is, err := c.openOwned()
	if errors.Is(err, locks.ErrOwned) {
		time.Sleep(locks.LookTime)
		file, is, err = c.openOwned()
	}
	if err != nil {
		return err
	}
	c.lockAll()
	defer c.unlockAll()
	c.file, c.is = file, is
	return nil
}

// Owns reports whether this log dispatches.
func (c *File) Owns() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.file != nil
}

// openOwned takes both locks: that of the database, and that of the claims, which is
// the only one where the database cannot be locked.
func (c *File) openOwned() (_ *os.File, is os.FileInfo, err error) {
	if c.database != nil {
		if err := locks.LockOwner(c.database); err != nil {
			return nil, nil, err
		}
	}
	if c.of != "" {
		file.CreateBeside(c.of, file.ClaimsSuffix) // else the next line says why it cannot be opened
	}
	file, err := locks.OpenLocked(c.path)
	if err == nil {
		// A pipe or a device in its place may never end.
		if is, err = file.Stat(); err != nil || !is.Mode().IsRegular() {
			err = errors.Join(errNotPlain, err, file.Close())
		}
	}
	if err != nil && c.database != nil {
		err = errors.Join(err, locks.UnlockOwner(c.database))
	}
	if err != nil {
		return nil, nil, err
	}
	return file, is, nil
}

var errNotPlain = errors.New("it is not a plain file")

// Release gives the lock back. Nothing runs any more, so nothing is claimed.
func (c *File) Release() error {
	c.lockAll()
	defer c.unlockAll()
	if c.file == nil {
		return nil
	}
	return errors.Join(c.file.Truncate(0), c.giveBack())
}

// Abandon gives the lock back, and leaves what the file says to the next
// owner: not everything of it is in the log.
func (c *File) Abandon() error {
	c.lockAll()
	defer c.unlockAll()
	if c.file == nil {
		return nil
	}
	return c.giveBack()
}

// giveBack gives both locks back. The caller holds all locks of the places.
func (c *File) giveBack() error {
	c.syncing.all.Wait() // the lock of a file is kept until nobody uses it
	err := errors.Join(unmapFile(c.mapped), c.file.Close())
	c.file, c.is, c.mapped = nil, nil, nil
	if c.database != nil {
		err = errors.Join(err, locks.UnlockOwner(c.database))
	}
	return err
}

// Close closes the database, after the locks were given back.
func (c *File) Close() error {
	if c.database == nil {
		return nil
	}
	return c.database.Close()
}
