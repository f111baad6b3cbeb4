package database

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
)

// Locate returns the one name of a file, and the file layer that has it: "" for
// that of the system. It refuses a file that is not alone or not complete.
func Locate(path, vfsName string) (string, string, error) {
	if vfsName == "" {
		vfsName = file.Mounted(path)
	}
	if vfsName != "" {
		return path, vfsName, nil
	}
	path, err := file.Resolve(path)
	if err == nil {
		err = file.RequireFiles(path)
	}
	if err == nil {
		err = requireTogether(path)
	}
	if err == nil {
		err = requireComplete(path)
	}
	return path, "", err
}

// apartFor is how long files that do not belong together are taken for those of a process that opens or closes them.
const apartFor = 500 * time.Millisecond

// requireTogether refuses a name whose files are not those of the processes that have one of them open: the others were
// moved, deleted or replaced. SQLite would read the log of one file into another, or begin a second log beside one
// that only these processes have.
func requireTogether(path string) error {
	missing, left := apart(path)
	for began := time.Now(); missing != "" && time.Since(began) < apartFor; missing, left = apart(path) {
		time.Sleep(5 * time.Millisecond)
	}
	if missing == "" {
		return nil
	}
	who := "a process that is still there"
	if names := locks.Names(locks.Users(left)); names != "" {
		who = names
	}
	return &event.StorageError{
		Fault: event.Incomplete, Op: "open", Path: path,
		Err:  fmt.Errorf("%s was moved, deleted or replaced while a program used it: %s has it open", missing, who),
		Hint: "the log of that program says where its events are: do as it says, and end it. Nothing was changed",
	}
}

// apart returns which of the files is not the one that a process has open, and one that is; "" if they belong together.
func apart(path string) (missing, left string) {
	if !locks.CanLook {
		return "", ""
	}
	index, indexErr := locks.IndexInUse(path + file.IndexSuffix) // first: whoever uses it has the database open for longer
	used, err := locks.InUse(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist), indexErr != nil && !errors.Is(indexErr, fs.ErrNotExist):
		return "", "" // what cannot be found out is for SQLite to say
	case index && !used:
		return path, path + file.IndexSuffix
	case !used, !file.UsesWAL(path): // another process may be creating it
		return "", ""
	case !index:
		if exclusive, err := locks.Exclusive(path); exclusive || err != nil {
			return "", "" // SQLite says that it is locked
		}
		return path + file.IndexSuffix, path
	}
	if _, err := os.Stat(path + file.WALSuffix); errors.Is(err, fs.ErrNotExist) {
		return path + file.WALSuffix, path
	}
	return "", ""
}

// requireComplete refuses a name beside which files wait for the one that is missing or
// empty. SQLite would delete the write-ahead log, with all events that it has.
func requireComplete(path string) error {
	// Before the file itself: another process may be creating all of them.
	var left []string
	if note := file.Note(path); note != "" {
		left = append(left, fmt.Sprintf("%s says: %s", path+file.WALSuffix, note))
	} else if size, err := file.Size(path + file.WALSuffix); err == nil && size > 0 {
		left = append(left, fmt.Sprintf("%s holds events", path+file.WALSuffix))
	}
	if n := interrupted(path + file.ClaimsSuffix); n > 0 {
		left = append(left, fmt.Sprintf("%s says that %d of its events were being handled when a process died", path+file.ClaimsSuffix, n))
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
		return file.OpenError(path, err)
	}
	return &event.StorageError{
		Fault: event.Incomplete, Op: "open", Path: path,
		Err: fmt.Errorf("the file %s, and %s", what, strings.Join(left, ", and ")),
		Hint: fmt.Sprintf("bring the file back to its place if it was moved or emptied; if nobody needs these events, delete %s and %s. "+
			"Nothing was changed", path+file.WALSuffix, path+file.ClaimsSuffix),
	}
}

// interrupted counts the events that were being handled when the process that wrote
// the claims at path ended.
func interrupted(path string) (n int) {
	left, _ := claims.Left(path)
	for _, one := range left {
		if one.Running != 0 {
			n++
		}
	}
	return n
}
