package sqlite

import (
	"errors"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/beat"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
)

// An open file stays the same when its name goes to another one, and so a bus would
// publish into nowhere. It looks every pollDelay whether the names still lead to
// what it has open: before a transaction, and when it is idle and dispatches. So what
// is acknowledged into a file that was replaced is never older than that.

// files are those of the log that this process has open. They belong to who has the writer's turn.
type files struct {
	*ground
	writer *writer
	index  os.FileInfo // of the write-ahead log; nil for one in memory
	placed time.Time   // when inPlace last looked
	rescue *rescue     // of what a file has that has to be left; nil before
}

// inPlace returns why the file cannot be used any more.
func (o *owner) inPlace() error {
	if why := o.stopped.Load(); why != nil {
		return why
	}
	if !beat.Passed(o.files.placed, pollDelay) {
		return nil
	}
	o.files.placed = time.Now()
	what := o.files.lost(o.writer.conn)
	if what == nothingLost {
		return nil
	}
	o.leave(what)
	return o.stopped.Load()
}

// loss is what became of the files of a log.
type loss int

const (
	nothingLost loss = iota
	fileMoved
	fileReplaced // and moved
	fileDeleted
	fileOverwritten // deleted, and another one put in its place
	logLost
	indexLost
)

// String completes "the file is no longer the one that was opened: ".
func (l loss) String() string {
	return [...]string{
		fileMoved:       "it was moved away while the bus ran",
		fileReplaced:    "it was moved away while the bus ran, and another file put in its place",
		fileDeleted:     "it was deleted while the bus ran",
		fileOverwritten: "another file was put in its place while the bus ran",
		logLost:         "its write-ahead log was moved or deleted while the bus ran",
		indexLost:       "the index of its write-ahead log was moved or deleted while the bus ran",
	}[l]
}

// lost returns what became of the files that c has open.
func (f *files) lost(c *database.Conn) loss {
	switch {
	case c.HasMoved(sqlite3.FCNTL_FILE_POINTER):
		_, err := os.Stat(f.path)
		switch replaced, deleted := err == nil, f.claims.Deleted(); {
		case replaced && deleted:
			return fileOverwritten
		case replaced:
			return fileReplaced
		case deleted:
			return fileDeleted
		}
		return fileMoved
	case c.HasMoved(sqlite3.FCNTL_JOURNAL_POINTER):
		return logLost
	case f.index != nil && !file.IsSame(f.path+file.IndexSuffix, f.index):
		return indexLost
	}
	return nothingLost
}

// leave stops, and begins to save what the process still has open.
func (o *owner) leave(what loss) {
	o.files.rescue = &rescue{files: o.files, what: what, shared: true}
	if version, err := o.writer.conn.Int64("PRAGMA data_version"); err == nil && version == o.lookout.known.version {
		o.files.rescue.shared = false
	}
	o.stop(&engine.StorageError{
		Fault: engine.Replaced, Op: "use", Path: o.path, Err: errors.New(what.String()),
		Hint: "what was acknowledged is being saved; the log says where, when it is done",
	})
	o.writer.signal()
}

// left makes the end of the connections touch nothing.
func (f *files) left() {
	<-f.reader.turn
	defer func() { f.reader.turn <- struct{}{} }()
	for _, c := range []*database.Conn{f.reader.conn, f.writer.conn} {
		c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
	}
}
