// Package file knows the files of a log by their names, and opens no database. A log is
// several files that lie beside each other. Resolve returns the one name of the first, and
// refuses a file that can be reached by others (links, mounts of single files). The names
// of the others end in WALSuffix, IndexSuffix and ClaimsSuffix; they get its owner and mode.
// Mount puts a file on a disk in memory, for tests.
package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// A log is several files, which lie beside each other and are named after the
// first. So a log has one name: absolute, because a process may go to another
// folder, and without symbolic links. A file with two names would have two
// write-ahead logs, and either would destroy what the other holds.

// linksLimit is how many symbolic links are followed from one name.
const linksLimit = 64

// Resolve returns the one name of the file at path, which need not exist yet. It
// refuses a file that has other names.
func Resolve(path string) (string, error) {
	if strings.ContainsRune(path, 0) { // where SQLite would take the name to end
		return "", &event.StorageError{Fault: event.IO, Op: "open", Path: strconv.Quote(path), Hint: "the name of the file holds a NUL byte"}
	}
	name := path
	if !filepath.IsAbs(name) {
		folder, err := os.Getwd()
		if err != nil {
			return "", fault.Wrap("open", path, err)
		}
		name = folder + string(filepath.Separator) + name // not cleaned: x/.. need not be where x is, if that is a link
	}
	for range linksLimit {
		found, err := filepath.EvalSymlinks(name)
		if err == nil {
			return found, onlyName(found)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", OpenError(path, err)
		}
		// There is no such file yet, or a link to one that does not exist yet.
		folder, base := filepath.Split(name)
		if folder, err = filepath.EvalSymlinks(folder); err != nil {
			return "", OpenError(path, err)
		}
		name = filepath.Join(folder, base)
		target, err := os.Readlink(name)
		if err != nil {
			return name, nil
		}
		if !filepath.IsAbs(target) {
			target = folder + string(filepath.Separator) + target
		}
		name = target
	}
	return "", OpenError(path, errors.New("too many symbolic links"))
}

// OpenError returns the error of a name that leads nowhere.
func OpenError(path string, err error) error {
	var typed *event.StorageError
	if err = fault.Wrap("open", path, err); errors.As(err, &typed) && typed.Fault == event.IO {
		typed.Hint = "check that the folder exists and that this user may create files in it"
	}
	return err
}

// onlyName refuses a file that can be opened by another name as well.
func onlyName(path string) error {
	refused := &event.StorageError{Fault: event.Linked, Op: "open", Path: path}
	if links := hardLinks(path); links > 1 {
		refused.Err = fmt.Errorf("the file has %d hard links", links)
		refused.Hint = fmt.Sprintf("programs that open it by different names lose each other's events: find the others with "+
			"find FOLDER -samefile %s, and remove or copy them; use a symbolic link instead", Quoted(path))
		return refused
	}
	if isMountPoint(path) {
		refused.Err = errors.New("the file is mounted by itself (a bind mount of a single file)")
		refused.Hint = "the files that belong to it lie beside it, and must be the same for everybody: mount its folder instead"
		return refused
	}
	return nil
}

// RequireFiles refuses a log of which one file is a pipe, a socket or a device: to open such a thing may wait for ever.
func RequireFiles(path string) error {
	for _, suffix := range []string{"", WALSuffix, IndexSuffix, ClaimsSuffix} {
		info, err := os.Stat(path + suffix)
		if err != nil || info.Mode().IsRegular() || info.IsDir() {
			continue // for others to say
		}
		what := "a device"
		switch mode := info.Mode(); {
		case mode&os.ModeNamedPipe != 0:
			what = "a named pipe"
		case mode&os.ModeSocket != 0:
			what = "a socket"
		}
		return &event.StorageError{
			Fault: event.Foreign, Op: "open", Path: path, Err: fmt.Errorf("%s is %s, and no file", path+suffix, what),
			Hint: "choose another name; it was left as it is",
		}
	}
	return nil
}

// Quoted makes a path one word for a shell.
func Quoted(path string) string {
	if runtime.GOOS == "windows" || !strings.ContainsAny(path, " '\"\\$`&|;<>()*?[]#~!\n\t") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
