package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/beat"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
)

// A process that has lost its file still has it open, with all that was acknowledged. The rescue brings that to where
// nothing else can lie over it, before anybody is told where it is:
//
//   - into the file itself, if that still has a name, and nobody has begun another log for it;
//   - else into a new file beside it.
//
// A write-ahead log belongs to a file by its name only. So what is left beside a name that leads nowhere any more becomes
// a note in the end, which no file can be mixed with, and beside which no bus begins a new file.

const (
	// rescueDelay is how often a rescue that has failed is tried again.
	rescueDelay = 5 * time.Second
	// noteDelay is how long other processes have to notice that the file is gone, and to save what they have
	// acknowledged into the log before it becomes a note.
	noteDelay = 5 * pollDelay
)

type rescue struct {
	*files
	what   loss
	shared bool // another process has written to the log a moment ago

	over   bool
	failed bool      // and has said so
	tried  time.Time // for the last time
	done   time.Time // what is acknowledged is safe since
}

// run does what is to be done now, and says when to call it again. last says that the process will not.
func (r *rescue) run(last bool) (wait time.Duration) {
	const never = time.Hour
	if r == nil || r.over {
		return never
	}
	if left := rescueDelay - time.Since(r.tried); r.done.IsZero() && r.failed && left > 0 && !last {
		return left
	}
	if r.done.IsZero() {
		r.tried = time.Now()
		hint, err := r.save()
		if err != nil {
			r.fail(err)
			return rescueDelay
		}
		r.end(hint)
	}
	if left := noteDelay - time.Since(r.done); left > 0 && !last && r.writer.conn.GetAutocommit() {
		return left // unless copy has seen to it that nobody can write
	}
	r.over = true
	r.leaveNote()
	return never
}

// save brings what was acknowledged to a safe place, and returns what there is to do then.
func (r *rescue) save() (hint string, err error) {
	path := r.path
	begin := "start the program again"
	const meanwhile = ". If another file was begun under its name meanwhile, first move that to another folder, with its -wal, -shm and -claims"
	switch r.what {
	case fileMoved:
		if err := r.gather(); err != nil {
			return "", err
		}
		return "what was acknowledged is in the file that was moved" + r.isNow() + ": move it back, and " + begin + meanwhile, nil
	case fileReplaced:
		begin += " to go on with the one that is here"
		if !r.shared && r.gather() == nil {
			r.clear()
			return "what was acknowledged is in the file that was moved" + r.isNow() + "; " + begin, nil
		}
		copied, err := r.copy()
		if err == nil {
			r.clear()
		}
		return "what was acknowledged is in " + copied + "; " + begin, err
	case fileOverwritten:
		copied, err := r.copy()
		if err == nil {
			r.clear()
		}
		return "what it had is in " + copied + "; " + begin + " to go on with the one that is here; stop it before you replace its file", err
	case fileDeleted:
		copied, err := r.copy()
		return "what it had is in " + copied + ": move that to " + path + ", and " + begin + meanwhile, err
	}
	suffix := file.WALSuffix
	if r.what == indexLost {
		suffix = file.IndexSuffix
	}
	if !r.others(suffix) {
		if err := r.gather(); err != nil {
			return "", err
		}
	}
	if !r.others(suffix) { // nor meanwhile
		return "what was acknowledged has been moved into the file itself: " + begin + ", and never delete " + path + suffix + " while it runs", nil
	}
	copied, err := r.copy()
	return fmt.Sprintf("another program has begun a log of its own beside the file, so what this one has acknowledged is in %s, and what that one has written is not: "+
		"end all programs that use the file, move %[2]s, %[2]s-wal and %[2]s-shm to another folder, move %[1]s to %[2]s, and %[3]s", copied, path, begin), err
}

// others tells whether another process has made a file in place of one that was lost.
func (r *rescue) others(suffix string) bool {
	_, err := os.Stat(r.path + suffix)
	return err == nil
}

// gather moves the write-ahead log into the file that is still open.
func (r *rescue) gather() error { return r.writer.conn.Checkpoint(sqlite3.CHECKPOINT_FULL) }

// isNow says what the file is called now, if that can be known.
func (r *rescue) isNow() string {
	if name := r.claims.Name(); name != "" {
		return " (it is " + name + " now)"
	}
	return ""
}

// copy writes everything that the file has into a new one, and returns its name. No other process can write any more
// from then on: nothing is acknowledged that the copy does not have.
func (r *rescue) copy() (name string, err error) {
	if name := r.copied(); name != "" {
		return name, nil
	}
	if r.writer.conn.GetAutocommit() {
		if err := r.writer.conn.Begin(true); err != nil {
			return "", err
		}
	}
	for _, folder := range []string{filepath.Dir(r.path), os.TempDir()} { // the first may be gone, too
		name = filepath.Join(folder, filepath.Base(r.path)+savedInfix+time.Now().UTC().Format("20060102T150405"))
		damage, copyErr := r.copyTo(name)
		switch {
		case copyErr != nil:
			err = errors.Join(err, copyErr)
		case damage != nil:
			return fmt.Sprintf("%s, which is damaged (%v): use the .recover command of the sqlite3 shell", name, damage), nil
		default:
			return name, nil
		}
	}
	return "", err
}

// copyTo writes the copy. SQLite lets the connection that writes copy nothing.
func (r *rescue) copyTo(name string) (damage, err error) {
	<-r.reader.turn
	defer func() { r.reader.turn <- struct{}{} }()
	return r.reader.conn.CopyTo(name, r.claims.Info())
}

// savedInfix is what the name of a file that was saved has behind that of the file.
const savedInfix = "-saved-"

// copied returns the copy that another process has made since the file is gone.
func (r *rescue) copied() string {
	entries, _ := os.ReadDir(filepath.Dir(r.path))
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && strings.HasPrefix(entry.Name(), filepath.Base(r.path)+savedInfix) && info.ModTime().After(r.placed.Add(-noteDelay)) {
			return filepath.Join(filepath.Dir(r.path), entry.Name())
		}
	}
	return ""
}

// clear takes away what lies beside another file that has come to the place of this one, so that it is not taken
// for what belongs to that.
func (r *rescue) clear() {
	if !r.writer.conn.HasMoved(sqlite3.FCNTL_JOURNAL_POINTER) {
		os.Remove(r.path + file.WALSuffix)
	}
	r.clearIndex()
}

func (r *rescue) clearIndex() {
	if r.index != nil && file.IsSame(r.path+file.IndexSuffix, r.index) {
		os.Remove(r.path + file.IndexSuffix)
	}
}

// leaveNote puts a note in place of the log, if nothing has come to the place of the file.
func (r *rescue) leaveNote() {
	now := r.lost(r.writer.conn)
	switch {
	case now == fileReplaced: // since
		r.clear()
		return
	case now != fileMoved && now != fileDeleted:
		return
	case now == fileMoved && r.gather() != nil: // what others have acknowledged since
		return // the log has it
	}
	if _, err := os.Stat(r.path + file.WALSuffix); err == nil && r.writer.conn.HasMoved(sqlite3.FCNTL_JOURNAL_POINTER) {
		return // somebody else's
	}
	why := r.stopped.Load()
	if file.LeaveNote(r.path, time.Now().UTC().Format(time.RFC3339)+": "+why.Err.Error()+"; "+why.Hint, r.index) == nil {
		r.clearIndex()
	}
}

// fail says that what was acknowledged is not yet safe.
func (r *rescue) fail(err error) {
	if r.failed {
		return
	}
	r.failed = true
	r.logger.Error("what was acknowledged cannot be saved yet; trying again every five seconds: do not end the process before",
		"path", r.path, "why", r.what.String(), "error", err)
	r.tell(r.stopped.Load())
}

// end says where what was acknowledged is.
func (r *rescue) end(hint string) {
	r.done = time.Now()
	why := *r.stopped.Load()
	why.Hint = hint
	r.stopped.Store(&why)
	r.logger.Error("the bus stops, because its file is gone", "path", r.path, "error", &why)
	r.tell(&why)
}

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
	o.stop(&event.StorageError{
		Fault: event.Replaced, Op: "use", Path: o.path, Err: errors.New(what.String()),
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
