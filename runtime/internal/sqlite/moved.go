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

// inPlace returns why the file cannot be used any more.
func (w *writer) inPlace() error {
	if why := w.log.stopped.Load(); why != nil {
		return why
	}
	if !beat.Passed(w.placed, pollDelay) {
		return nil
	}
	w.placed = time.Now()
	switch {
	case w.conn.HasMoved(sqlite3.FCNTL_FILE_POINTER):
		w.leave(w.log.moved())
	case w.conn.HasMoved(sqlite3.FCNTL_JOURNAL_POINTER):
		w.leave(&engine.StorageError{
			Err: errors.New("its write-ahead log was moved or deleted while the bus ran"),
			Hint: "what was acknowledged has been moved into the file itself: start the program again, and never delete " +
				w.log.path + file.WALSuffix + " while it runs",
		}, true)
	case w.log.index != nil && !file.IsSame(w.log.path+file.IndexSuffix, w.log.index):
		w.leave(&engine.StorageError{
			Err:  errors.New("the index of its write-ahead log was moved or deleted while the bus ran"),
			Hint: "start the program again, and never delete " + w.log.path + file.IndexSuffix + " while it runs",
		}, false)
	default:
		return nil
	}
	return w.log.stopped.Load()
}

// moved says what became of the file, and whether what was acknowledged should be
// moved from the write-ahead log into it: into the file that was moved away, so that it has
// all, and for the sake of another one in its place, into which the next program
// would read it.
func (l *Log) moved() (why *engine.StorageError, gather bool) {
	_, err := os.Stat(l.path)
	replaced := err == nil
	deleted := l.claims.Deleted()
	switch {
	case replaced && deleted:
		return &engine.StorageError{
			Err:  errors.New("another file was put in its place while the bus ran"),
			Hint: "start the program again to go on with that one; stop it before you replace its file",
		}, true
	case replaced:
		return &engine.StorageError{
			Err:  errors.New("it was moved away while the bus ran, and another file put in its place"),
			Hint: "what was acknowledged is in the file that was moved; start the program again to go on with the one that is here",
		}, true
	case deleted:
		return &engine.StorageError{
			Err:  errors.New("it was deleted while the bus ran"),
			Hint: "restore a backup, and start the program again",
		}, false
	}
	return &engine.StorageError{
		Err:  errors.New("it was moved away while the bus ran"),
		Hint: "what was acknowledged is in the file that was moved: move it back, and start the program again",
	}, true
}

// leave stops, and with gather moves what is in the write-ahead log into the file
// that is still open, if it is this process's alone.
func (w *writer) leave(why *engine.StorageError, gather bool) {
	why.Fault, why.Op, why.Path = engine.Replaced, "use", w.log.path
	w.stop(why)
	if version, err := w.conn.Int64("PRAGMA data_version"); gather && err == nil && version == w.known.version {
		w.saving = true
	}
}

// save moves what is in the write-ahead log into the file that has to be left, if
// that is to be done.
func (w *writer) save() {
	if !w.saving {
		return
	}
	w.saving = false
	if err := w.conn.Checkpoint(sqlite3.CHECKPOINT_TRUNCATE); err != nil {
		w.logger.Error("acknowledged events cannot be moved from the write-ahead log into the file; keep the write-ahead log", "path", w.log.path, "error", err)
	}
}

// leaveFiles makes the end of the connections touch nothing.
func (l *Log) leaveFiles() {
	<-l.reading
	defer func() { l.reading <- struct{}{} }()
	for _, c := range []*database.Conn{l.reader, l.writer.conn} {
		c.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
	}
}
