package sqlite

import (
	"errors"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/beat"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
)

// An open file stays the same when its name goes to another one, and so a bus would
// publish into nowhere. It looks every pollDelay whether the names still lead to
// what it has open: before a transaction, and when it is idle and dispatches. So what
// is acknowledged into a file that was replaced is never older than that.

// inPlace returns why the file cannot be used any more.
func (w *writer) inPlace() error {
	if why := w.log.stopped.Load(); why != nil {
		return why
	}
	if !beat.Passed(w.placed, pollDelay) {
		return nil
	}
	w.placed = time.Now()
	what := w.log.lost(w.conn)
	if what == nothingLost {
		return nil
	}
	w.leave(what)
	return w.log.stopped.Load()
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
func (l *Log) lost(c *database.Conn) loss {
	switch {
	case c.HasMoved(sqlite3.FCNTL_FILE_POINTER):
		_, err := os.Stat(l.path)
		switch replaced, deleted := err == nil, l.claims.Deleted(); {
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
	case l.index != nil && !file.IsSame(l.path+file.IndexSuffix, l.index):
		return indexLost
	}
	return nothingLost
}

// leave stops, and begins to save what the process still has open.
func (w *writer) leave(what loss) {
	w.rescue = &rescue{writer: w, what: what, shared: true}
	if version, err := w.conn.Int64("PRAGMA data_version"); err == nil && version == w.known.version {
		w.rescue.shared = false
	}
	w.stop(&event.StorageError{
		Fault: event.Replaced, Op: "use", Path: w.log.path, Err: errors.New(what.String()),
		Hint: "what was acknowledged is being saved; the log says where, when it is done",
	})
	w.signal()
}

// leaveFiles makes the end of the connections touch nothing.
func (l *Log) leaveFiles() {
	<-l.reading
	defer func() { l.reading <- struct{}{} }()
	for _, c := range []*database.Conn{l.reader, l.writer.conn} {
		c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
	}
}
