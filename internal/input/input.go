// Package input reads the files that a command line or a catalogue names.
//
// There is one way to do so, because each of these files can be anything: a pipe
// without a writer, a device without an end, a file of many gigabytes.
package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Unlimited is a limit for files that busgen has written itself.
const Unlimited = 1 << 40

// ReadFile returns the content of a regular file of at most limit bytes. It never waits for
// a pipe or a device. An error is an *[fs.PathError], and a *[TooLargeError] inside it if
// the file is larger.
func ReadFile(name string, limit int64) ([]byte, error) {
	refuse := func(err error) ([]byte, error) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if what := irregular(info.Mode()); what != "" {
		return refuse(errors.New("it is " + what))
	}
	if info.Size() > limit {
		return refuse(&TooLargeError{info.Size(), limit})
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAll(file, name, limit)
}

// ReadFS is [ReadFile] for a file of a file system.
func ReadFS(files fs.FS, name string, limit int64) ([]byte, error) {
	refuse := func(err error) ([]byte, error) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, err
	}
	if what := irregular(info.Mode()); what != "" {
		return refuse(errors.New("it is " + what))
	}
	if info.Size() > limit {
		return refuse(&TooLargeError{info.Size(), limit})
	}
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAll(file, name, limit)
}

// readAll reads a file that is open. The limit holds while reading, too: a file can grow, and those of /proc have
// size 0.
func readAll(file io.Reader, name string, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(content)) > limit:
		return nil, &fs.PathError{Op: "read", Path: name, Err: &TooLargeError{limit + 1, limit}}
	}
	return content, nil
}

// A TooLargeError says that a file has more bytes than it may have.
type TooLargeError struct{ Size, Limit int64 }

// Error names both in MiB.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("it has %.1f MiB, and may have %d MiB", float64(e.Size)/(1<<20), e.Limit>>20)
}

// irregular names what is not a regular file; empty for one that is.
func irregular(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe, not a regular file"
	case mode&fs.ModeSocket != 0:
		return "a socket, not a regular file"
	case mode&fs.ModeDevice != 0:
		return "a device, not a regular file"
	case !mode.IsRegular():
		return "not a regular file"
	}
	return ""
}
