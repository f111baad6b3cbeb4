package output

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
	newSuffix = "busgen-new" // new content
	oldSuffix = "busgen-old" // a second name of the present file
)

// temporaryName returns a name in the folder of path.
func temporaryName(path, suffix string) string {
	dir, name := filepath.Split(path)
	return filepath.Join(dir, fmt.Sprintf(".%s.%d.%s", name, os.Getpid(), suffix))
}

var temporaryForm = regexp.MustCompile(`^\..+\.(\d+)\.(?:busgen-new|busgen-old)$`)

// abandonedAfter is the age at which a temporary file cannot belong to a running process, even if one has
// the same id: that may be a process in another container.
const abandonedAfter = time.Hour

// sweep removes temporary files that a killed process has left in a folder.
func (b *batch) sweep(dir string) {
	if b.swept[dir] {
		return
	}
	b.swept[dir] = true
	entries, _ := os.ReadDir(dir) // an error would occur again on writing
	for _, entry := range entries {
		match := temporaryForm.FindStringSubmatch(entry.Name())
		if match == nil || !entry.Type().IsRegular() {
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

// runs reports whether another process has an id.
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
