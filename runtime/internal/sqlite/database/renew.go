package database

import (
	"errors"
	"strconv"

	"github.com/ncruces/go-sqlite3"
)

// Renew takes another connection in the place of c, which the bus has opened to write or to read, and whose memory has
// no room for a long value any more: parts of the index of the write-ahead log are spread over it, and stay. No
// transaction and no statement is open. On an error c stays as it is.
func (c *Conn) Renew() (err error) {
	if c.panicked != nil {
		return c.panicked
	}
	defer c.Recovered(&err)
	if !c.GetAutocommit() || c.doubtful || c.HasMoved(sqlite3.FCNTL_FILE_POINTER) || c.HasMoved(sqlite3.FCNTL_JOURNAL_POINTER) {
		return errors.New("this is not the moment for another connection")
	}
	readsOnly, err := c.Int64("PRAGMA query_only")
	if err != nil {
		return err
	}
	limit, err := c.Int64("PRAGMA journal_size_limit")
	if err != nil {
		return err
	}
	other, err := open(c.address, c.memory)
	if err != nil {
		return err
	}
	next := &Conn{Conn: other, disk: c.disk, Path: c.Path, address: c.address, memory: c.memory, stmts: map[string]prepared{}}
	err = next.configure()
	if err == nil {
		err = next.ExecScript("PRAGMA journal_size_limit=" + strconv.FormatInt(limit, 10))
	}
	if err == nil && readsOnly != 0 {
		err = next.ExecScript("PRAGMA query_only=1")
	}
	if err == nil {
		err = next.SetFull(c.full)
	}
	if err != nil {
		return errors.Join(err, closeAll(other))
	}
	before := c.Conn
	c.Conn, c.stmts, c.patience = other, next.stmts, patience{}
	c.wal.watch(other)
	err = c.wait(BusyTimeout)
	Quietly(func() { closeAll(before) })
	return err
}
