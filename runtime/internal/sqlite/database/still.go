package database

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/busgen/busgen/runtime/internal/sqlite/file"
	"github.com/busgen/busgen/runtime/internal/sqlite/locks"
)

// Watch finds out how to read a file without changing it: with the index of the processes that
// have it open, which pinned keeps from being made anew, or as a still one.
func Watch(path string) (pinned *os.File, _ *Still, err error) {
	inUse, err := locks.InUse(path)
	if err != nil {
		return nil, nil, err
	}
	if inUse {
		return locks.PinIndex(path + file.IndexSuffix), nil, nil
	}
	s := &Still{path: path}
	if s.database, err = stampOf(path); err != nil {
		return nil, nil, err
	}
	// Files are stamped by a clock that stands still for some milliseconds.
	if age := time.Since(s.database.changed); age >= 0 && age < stampStep {
		time.Sleep(stampStep)
		if s.database, err = stampOf(path); err != nil {
			return nil, nil, err
		}
	}
	if s.log, err = stampOf(path + file.WALSuffix); err != nil {
		return nil, nil, err
	}
	s.logHeader, err = headOf(path + file.WALSuffix)
	return nil, s, err
}

// stampStep is longer than the clocks stand still by which systems stamp files.
const stampStep = 20 * time.Millisecond

// Still is a file that no process has open, as it was when it was opened here.
type Still struct {
	path          string
	database, log stamp
	logHeader     [walHeader]byte
}

// walHeader is the length of what a write-ahead log begins with. It changes when
// the log begins anew.
const walHeader = 32

// IsCurrent reports whether nothing was written since, and nobody can.
func (s *Still) IsCurrent() bool {
	database, err := stampOf(s.path)
	log, logErr := stampOf(s.path + file.WALSuffix)
	inUse, useErr := locks.InUse(s.path)
	return errors.Join(err, logErr, useErr) == nil && !inUse && s.database.equal(database) && s.log.equal(log)
}

// IsIntact reports whether everything is still there that was there. What was
// appended to the log does not matter.
func (s *Still) IsIntact() bool {
	database, err := stampOf(s.path)
	header, headErr := headOf(s.path + file.WALSuffix)
	if errors.Join(err, headErr) != nil || !s.database.equal(database) {
		return false
	}
	return s.log.size < walHeader || header == s.logHeader
}

// stamp says which file it is, and when it was changed. It is zero for none.
type stamp struct {
	info    os.FileInfo
	size    int64
	changed time.Time
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return stamp{}, nil
	}
	if err != nil {
		return stamp{}, err
	}
	return stamp{info, info.Size(), info.ModTime()}, nil
}

func (s stamp) equal(other stamp) bool {
	if s.info == nil || other.info == nil {
		return s.info == nil && other.info == nil
	}
	return os.SameFile(s.info, other.info) && s.size == other.size && s.changed.Equal(other.changed)
}

// headOf reads the header of a write-ahead log, or zeros if it has none.
func headOf(path string) (header [walHeader]byte, err error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return header, nil
	}
	if err != nil {
		return header, err
	}
	defer file.Close()
	if _, err := io.ReadFull(file, header[:]); err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		return header, fmt.Errorf("read %s: %w", path, err)
	}
	return header, nil
}
