package sqlite

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
)

// requireOwnLog refuses a file beside which the write-ahead log of another one lies. A log belongs to a file by its name
// only: SQLite would read the events of one into the other, over its own. That happens when a file is
// moved to where another one was in use, and died. What nobody can tell, such as a copy of the
// same file, passes. The path is one that database.Locate has found.
func requireOwnLog(path, vfsName string) error {
	if vfsName != "" || file.Note(path) != "" {
		return nil
	}
	if size, err := file.Size(path + file.WALSuffix); err != nil || size == 0 {
		return nil
	}
	if used, err := locks.InUse(path); err != nil || used {
		return nil // with its own log
	}
	alone, err := identityOf(path, database.LookAtFile)
	if err != nil || alone == nil {
		return nil
	}
	with, err := identityOf(path, database.LookAtBoth)
	// A log can make a file unreadable that is as long as another one.
	if err != nil && !errors.Is(err, sqlite3.CORRUPT) || err == nil && (with == nil || bytes.Equal(alone, with)) {
		return nil
	}
	return &event.StorageError{
		Fault: event.Incomplete, Op: "open", Path: path,
		Err: fmt.Errorf("%s-wal is the write-ahead log of another file, which was here before, and would be read over what this one has", path),
		Hint: fmt.Sprintf("move %[1]s-wal, %[1]s-shm and %[1]s-claims to another folder (together with the file that they belong to, if that is still somewhere), and open it again. "+
			"If the content of another file was restored into this one a moment before the process died, run instead: sqlite3 %[2]s 'PRAGMA wal_checkpoint'. "+
			"Nothing was changed", path, file.Quoted(path)),
	}
}

// signature brings the page with the identity of the file into its write-ahead log, for requireOwnLog. It writes another
// value and then the same again, because SQLite writes no page that stays as it is.
const signature = "UPDATE busgen_identity SET log = hex(log); UPDATE busgen_identity SET log = unhex(log)"

// identityOf returns the random number that a log keeps for life, or an error if it cannot be read.
func identityOf(path string, how database.Look) (log []byte, err error) {
	c, err := database.ConnectToLook(path, "", how)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	err = c.QueryOnce("SELECT log FROM busgen_identity", func(s *sqlite3.Stmt) error {
		log = s.ColumnBlob(0, nil)
		return nil
	})
	return log, err
}
