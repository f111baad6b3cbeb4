package emit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// The suffixes of temporary files. Their names begin with a dot, so that Go's tools ignore them.
const (
	newSuffix  = "busgen-new"  // new content
	editSuffix = "busgen-edit" // new content of one of several files that are edited together
	oldSuffix  = "busgen-old"  // a second name of what is there
)

// temporaryName is a name beside path.
func temporaryName(path, suffix string) string { return temporaryOf(os.Getpid(), path, suffix) }

func temporaryOf(pid int, path, suffix string) string {
	dir, name := filepath.Split(path)
	return filepath.Join(dir, fmt.Sprintf(".%s.%d.%s", name, pid, suffix))
}

var temporaryForm = regexp.MustCompile(`^\..+\.(\d+)\.(busgen-new|busgen-edit|busgen-old)$`)

// abandonedAfter is the age at which a temporary file cannot belong to a process that runs, even if
// one has its number: it may be a process in another container.
const abandonedAfter = time.Hour

// sweep removes from a folder what a process has left that was killed. Files of an edit are
// only removed by the next edit: until then [Resume] may need them.
func (b *batch) sweep(dir string) {
	if b.swept[dir] {
		return
	}
	b.swept[dir] = true
	entries, _ := os.ReadDir(dir) // whatever is wrong with the folder shows when it is written to
	for _, entry := range entries {
		match := temporaryForm.FindStringSubmatch(entry.Name())
		if match == nil || !entry.Type().IsRegular() || match[2] == editSuffix && b.suffix != editSuffix {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		if !writing.has(path) && isAbandoned(match[1], entry) {
			os.Remove(path)
		}
	}
}

func isAbandoned(pid string, entry fs.DirEntry) bool {
	if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > abandonedAfter {
		return true
	}
	number, err := strconv.Atoi(pid)
	return err != nil || !runs(number)
}

// runs tells whether another process has a number.
func runs(pid int) bool {
	if pid == os.Getpid() {
		return false
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer process.Release()
	if runtime.GOOS == "windows" {
		return true
	}
	err = process.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, syscall.EPERM)
}
