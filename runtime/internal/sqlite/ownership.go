package sqlite

import (
	"errors"
	"os"
	"time"
)

// own makes this process the one that dispatches, or returns errOwned. The
// operating system gives the locks back when the process ends, however it ends.
func (c *claims) own() error {
	if c.owns() {
		return errOwned // by this very log, whose lock must not be given back
	}
	file, err := c.openOwned()
	if errors.Is(err, errOwned) {
		time.Sleep(lookTime)
		file, err = c.openOwned()
	}
	if err != nil {
		return err
	}
	c.lock()
	defer c.unlock()
	c.file = file
	return nil
}

// owns tells whether this log dispatches.
func (c *claims) owns() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.file != nil
}

// openOwned takes both locks: that of the database, and that of the claims, which is
// the only one where the database cannot be locked.
func (c *claims) openOwned() (*os.File, error) {
	if c.log != nil {
		if err := lockOwner(c.log); err != nil {
			return nil, err
		}
	}
	if c.of != "" {
		createBeside(c.of, claimsSuffix) // else the next line says why it cannot be opened
	}
	file, err := openLocked(c.path)
	if err == nil {
		// A pipe or a device in its place may never end.
		var info os.FileInfo
		if info, err = file.Stat(); err != nil || !info.Mode().IsRegular() {
			err = errors.Join(errNotPlain, err, file.Close())
		}
	}
	if err != nil && c.log != nil {
		err = errors.Join(err, unlockOwner(c.log))
	}
	if err != nil {
		return nil, err
	}
	return file, nil
}

var errNotPlain = errors.New("it is not a plain file")

// release gives the lock back. Nothing runs any more, so nothing is claimed.
func (c *claims) release() error {
	c.lock()
	defer c.unlock()
	if c.file == nil {
		return nil
	}
	return errors.Join(c.file.Truncate(0), c.close())
}

// abandon gives the lock back, and leaves what the file says to the next
// owner: not everything of it is in the log.
func (c *claims) abandon() error {
	c.lock()
	defer c.unlock()
	if c.file == nil {
		return nil
	}
	return c.close()
}

// close gives both locks back. The caller holds all locks of the places.
func (c *claims) close() error {
	err := errors.Join(unmapFile(c.mapped), c.file.Close())
	c.file, c.mapped = nil, nil
	if c.log != nil {
		err = errors.Join(err, unlockOwner(c.log))
	}
	return err
}

// shut closes the database, after the locks were given back.
func (c *claims) shut() error {
	if c.log == nil {
		return nil
	}
	return c.log.Close()
}
