package database

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/file"
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
		err = requireComplete(path)
	}
	return path, "", err
}

// requireComplete refuses a name beside which files wait for the one that is missing or
// empty. SQLite would delete the write-ahead log, with all events that it has.
func requireComplete(path string) error {
	// Before the file itself: another process may be creating all of them.
	var left []string
	if size, err := file.Size(path + file.WALSuffix); err == nil && size > 0 {
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
	return &engine.StorageError{
		Fault: engine.Incomplete, Op: "open", Path: path,
		Err: fmt.Errorf("the file %s, and %s", what, strings.Join(left, ", and ")),
		Hint: fmt.Sprintf("bring the file back to its place if it was moved or emptied; if nobody needs these events, delete %s and %s. "+
			"Nothing was changed", path+file.WALSuffix, path+file.ClaimsSuffix),
	}
}

// interrupted counts the events that were being handled when the process that wrote
// the claims at path ended.
func interrupted(path string) (n int) {
	for _, one := range claims.Left(path) {
		if one.Running != 0 {
			n++
		}
	}
	return n
}
