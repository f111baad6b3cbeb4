package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// The files that lie beside the log: SQLite's write-ahead log and its index, and
// our claims.
const (
	walSuffix    = "-wal"
	indexSuffix  = "-shm"
	claimsSuffix = "-claims"
)

// complete refuses a name beside which files wait for the one that is missing or
// empty. SQLite would delete the write-ahead log, with all events that it has.
func complete(path string) error {
	// Before the file itself: another process may be creating all of them.
	var left []string
	if size, err := sizeOf(path + walSuffix); err == nil && size > 0 {
		left = append(left, fmt.Sprintf("%s holds events", path+walSuffix))
	}
	if n := claimed(path + claimsSuffix); n > 0 {
		left = append(left, fmt.Sprintf("%s says that %d of its events were being handled when a process died", path+claimsSuffix, n))
	}
	if len(left) == 0 {
		return nil
	}
	what := "is not there"
	switch size, err := os.Stat(path); {
	case err == nil && size.Size() > 0:
		return nil
	case err == nil:
		what = "is empty"
	case !errors.Is(err, fs.ErrNotExist):
		return openError(path, err)
	}
	return &engine.StorageError{
		Fault: engine.Incomplete, Op: "open", Path: path,
		Err: fmt.Errorf("the file %s, and %s", what, strings.Join(left, ", and ")),
		Hint: fmt.Sprintf("bring the file back to its place if it was moved or emptied; if nobody needs these events, delete %s and %s. "+
			"Nothing was changed", path+walSuffix, path+claimsSuffix),
	}
}

// claimed counts the events that were being handled when the process that wrote
// the claims at path ended. It looks at a plain file only.
func claimed(path string) (n int) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	found, err := (&claims{file: file}).read()
	if err != nil {
		return 0
	}
	for _, one := range found {
		if one.running != 0 {
			n++
		}
	}
	return n
}

// prepare makes the files that SQLite needs beside a log before SQLite does:
// those of root, and those of a user with another mask, must be open to whoever
// the log is open to.
func prepare(path string) error {
	if !isLog(path) {
		return nil // nothing is left beside what is not ours
	}
	return errors.Join(createBeside(path, walSuffix), createBeside(path, indexSuffix))
}

// isLog tells whether the file at path is an event log, by its first bytes.
func isLog(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	var header [100]byte
	if _, err := io.ReadFull(file, header[:]); err != nil {
		return false
	}
	const usesWAL, id = 18, 68
	return header[usesWAL] == 2 && string(header[id:id+4]) == "busg"
}
