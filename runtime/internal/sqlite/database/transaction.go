package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// Transaction runs f between BEGIN IMMEDIATE and COMMIT. With full the commit
// is on disk when it returns; without, it is in the hands of the operating
// system. Whatever fails, nothing of f remains.
func (c *Conn) Transaction(full bool, f func() error) error {
	err := c.Commit(full, f)
	c.Tidy()
	return err
}

// Commit is Transaction without Tidy.
func (c *Conn) Commit(full bool, f func() error) error {
	if err := c.Begin(full); err != nil {
		return err
	}
	return c.Finish(f)
}

// Begin starts a transaction for Finish. It waits for other processes.
func (c *Conn) Begin(full bool) error {
	if c.doubtful {
		if err := c.repair(); err != nil {
			return err
		}
	}
	if err := c.SetFull(full); err != nil {
		return err
	}
	if !c.wal.signed {
		c.changes = c.TotalChanges()
	}
	return c.Exec("BEGIN IMMEDIATE")
}

// TryBegin is Begin that waits for nothing, and reports whether it has started
// a transaction.
func (c *Conn) TryBegin(full bool) bool {
	if c.doubtful || c.wait(0) != nil {
		return false
	}
	err := c.Begin(full)
	c.wait(BusyTimeout)
	return err == nil
}

// Finish runs f in the transaction that Begin has started, and ends it.
func (c *Conn) Finish(f func() error) error {
	err := f()
	// From here on no context interrupts: what is open would lock everyone out.
	defer c.SetInterrupt(c.SetInterrupt(context.Background()))
	signs := err == nil && c.Signature != "" && !c.wal.signed && c.TotalChanges() != c.changes
	if signs {
		err = c.ExecScript(c.Signature)
	}
	if err == nil {
		if err = c.commit(); err == nil {
			c.wal.signed = c.wal.signed || signs
			return nil
		}
		// A write that finds no space does not happen, so that the end of the
		// transaction is not in the write-ahead log.
		c.doubtful = !errors.Is(err, sqlite3.BUSY) && !errors.Is(err, sqlite3.FULL)
	}
	// Some failures (a full disk) have rolled back already.
	if !c.GetAutocommit() {
		if rollbackErr := c.Exec("ROLLBACK"); rollbackErr != nil {
			return fmt.Errorf("%w (and the rollback failed: %v)", err, rollbackErr)
		}
	}
	if c.doubtful {
		if repairErr := c.repair(); repairErr != nil {
			return fmt.Errorf("%w (%w: %v)", err, fault.ErrInDoubt, repairErr)
		}
	}
	return err
}

// commit ends the transaction.
func (c *Conn) commit() error {
	if !c.full {
		return c.Exec("COMMIT")
	}
	c.disk.gather()
	return c.disk.endGathering(c.Exec("COMMIT"))
}

// Doubt makes the next transaction begin with a repair, which writes all of the write-ahead log
// again: the disk has failed another connection.
func (c *Conn) Doubt() {
	c.doubtful = true
	c.disk.logLoose, c.disk.logSynced = true, 0
}

// repair makes up for a commit or a checkpoint that failed. After a commit all
// of it may stand in the write-ahead log, and would be found there if the
// process died now. And when a sync fails, the operating system may forget what
// it has not yet written, earlier commits included, and later syncs do not bring
// that back. Both end when the write-ahead log is moved into the database and
// emptied, and a commit that changes nothing is synced after that. Until this
// has worked, nothing else is written. A log that may be forgotten is written
// again before it is moved.
func (c *Conn) repair() error {
	if c.wal.broken {
		return &event.StorageError{
			Fault: event.IO, Op: "write", Path: c.Path,
			Hint: "the disk has failed to keep what was written, and the events are safe only in the file " + c.Path +
				"-wal: check the disk, end every program that uses the file, and start again",
		}
	}
	if err := c.SetFull(true); err != nil {
		return err
	}
	err := c.fastenLog()
	if err == nil {
		err = c.Checkpoint(sqlite3.CHECKPOINT_TRUNCATE)
	}
	if err == nil {
		err = c.Rewrite()
	}
	c.doubtful = err != nil
	return err
}

// Rewrite writes a page as it is. An UPDATE that changes nothing would write none.
func (c *Conn) Rewrite() error {
	version, err := c.Int64("PRAGMA user_version")
	if err != nil {
		return err
	}
	return c.ExecScript(fmt.Sprintf("PRAGMA user_version=%d", version))
}

// fastenLog writes the write-ahead log over itself and syncs it, if a sync of it has
// failed. Otherwise the disk may hold its beginning only, and the power may fail when the
// database has pages of its end: then SQLite would put old pages among new ones.
func (c *Conn) fastenLog() error {
	if !c.disk.logLoose {
		return nil
	}
	// Nobody else may write to it, or begin it anew.
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := c.disk.writeLogAgain()
	if reason := c.disk.reason; err != nil && reason != nil {
		err = fmt.Errorf("%w: %w", err, reason) // what the driver does not show
	}
	return errors.Join(err, c.Exec("ROLLBACK"))
}

// SetFull chooses what a commit waits for. The driver's default for WAL files
// is NORMAL, which can lose acknowledged events when the power fails.
func (c *Conn) SetFull(full bool) error {
	if c.full == full {
		return nil
	}
	mode := "NORMAL"
	if full {
		mode = "FULL"
	}
	// Not prepared: this pragma takes effect while it is being compiled.
	if err := c.ExecScript("PRAGMA synchronous=" + mode); err != nil {
		return err
	}
	c.full = full
	return nil
}
