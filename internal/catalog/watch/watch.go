// Package watch notices changes of a catalogue: of its file, of the files that
// it includes. It is for "busgen generate --watch" and for package tuning.
//
// [File.Look] looks at what the file system says of the files, and reads them only if
// that has changed or cannot be relied on. A change is one of content unless
// [File.Touches] is set, and a patient look waits until the writer of a file is through
// with it.
package watch

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"os"
	"time"

	"github.com/busgen/busgen/internal/catalog/parse"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// File is the file of a watched catalogue. It is not safe for concurrent use.
type File struct {
	// Touches makes a file that is written again with the same content a change.
	Touches bool

	path    string
	last    *Snapshot // of the last look that read it; nil if it could not be read
	applied [sha256.Size]byte
	seen    [sha256.Size]byte // the content at the last look
}

// A file system keeps modification times no coarser than this.
const coarsestTime = 2 * time.Second

// New returns the file at path, before the first look at it.
func New(path string) *File { return &File{path: path} }

// Look returns the catalogue if its files have changed. A patient look returns
// only a content that the look before has seen too, because a file may be half
// written. settled is false while there is reason to look again soon. The error
// says that the file at path cannot be read.
func (f *File) Look(patient bool) (changed *Snapshot, settled bool, err error) {
	if f.last != nil && f.last.same() {
		return nil, true, nil
	}
	now, err := Read(f.path)
	if err != nil {
		f.last = nil
		return nil, false, err
	}
	before := f.seen
	f.seen = [sha256.Size]byte(now.sum.Sum(nil))
	if patient && f.seen != f.applied && f.seen != before {
		return nil, false, nil
	}
	f.last = now
	if f.seen == f.applied && !f.Touches {
		return nil, true, nil
	}
	f.applied = f.seen
	return now, true, nil
}

// Snapshot is a catalogue as it was read once.
type Snapshot struct {
	Path      string
	Catalogue *catalog.Catalogue
	Findings  diag.Findings

	signs []sign
	trace parse.Trace // what patterns have matched
	sum   hash.Hash   // of all contents
}

// sign has what the file system says about a file.
type sign struct {
	name string
	info os.FileInfo // nil if there is no such file
	// young says that the file was written so shortly before it was read that
	// another write could leave the modification time as it is.
	young bool
}

func signOf(name string) sign {
	info, err := os.Stat(name) // what a symbolic link leads to
	if err != nil {
		return sign{name: name}
	}
	return sign{name, info, time.Since(info.ModTime()) < coarsestTime}
}

// Read reads the catalogue at path, with the files that it includes. The error is about the file at path.
func Read(path string) (*Snapshot, error) {
	s := &Snapshot{Path: path, sum: sha256.New(), signs: []sign{signOf(path)}}
	s.trace.Files = s
	text, err := parse.Disk{}.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s.sum.Write(text)
	s.Catalogue, s.Findings = parse.TextWith(&s.trace, path, text)
	return s, nil
}

// ReadFile implements [parse.Files]. It takes the sign of a file before it
// reads it.
func (s *Snapshot) ReadFile(name string) ([]byte, error) {
	s.signs = append(s.signs, signOf(name))
	text, err := parse.Disk{}.ReadFile(name)
	fmt.Fprintf(s.sum, "\n%s %d %t\n", name, len(text), err == nil)
	s.sum.Write(text)
	return text, err
}

// Glob implements [parse.Files].
func (s *Snapshot) Glob(folder, pattern string) []string {
	return parse.Disk{}.Glob(folder, pattern)
}

// same reports whether nothing has changed since. Files that are too young for
// their signs to be relied on are read again.
func (s *Snapshot) same() bool {
	young := false
	var signs []sign
	for _, before := range s.signs {
		now := signOf(before.name)
		signs, young = append(signs, now), young || before.young
		switch {
		case before.info == nil && now.info == nil:
		case before.info == nil || now.info == nil:
			return false
		case !os.SameFile(before.info, now.info) || before.info.Size() != now.info.Size() || !before.info.ModTime().Equal(now.info.ModTime()):
			return false
		}
	}
	if s.trace.Moved() || young && !s.unchanged() {
		return false
	}
	s.signs = signs
	return true
}

// unchanged reads the files again.
func (s *Snapshot) unchanged() bool {
	again := &Snapshot{sum: sha256.New()}
	text, err := parse.Disk{}.ReadFile(s.Path)
	again.sum.Write(text)
	for _, one := range s.signs[1:] {
		again.ReadFile(one.name)
	}
	return err == nil && bytes.Equal(again.sum.Sum(nil), s.sum.Sum(nil))
}
