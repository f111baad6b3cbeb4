package tuning

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"os"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// A watched catalogue, and what was seen of it.
type watched struct {
	path    string
	last    *snapshot // of the last look that read it; nil if it could not be read
	applied [sha256.Size]byte
	seen    [sha256.Size]byte // the content at the last look
}

// A file system keeps modification times no coarser than this.
const coarsestTime = 2 * time.Second

// look returns the catalogue if its files have changed. A patient look takes only what
// was there at the look before: whoever writes a file may not be through with
// it. settled is false while there is reason to look again soon.
func (w *watched) look(patient bool) (changed *snapshot, settled bool, err error) {
	if w.last != nil && w.last.same() {
		return nil, true, nil
	}
	now, err := snapshotOf(w.path)
	if err != nil {
		w.last = nil
		return nil, false, err
	}
	before := w.seen
	w.seen = [sha256.Size]byte(now.sum.Sum(nil))
	if patient && w.seen != w.applied && w.seen != before {
		return nil, false, nil
	}
	w.last = now
	if w.seen == w.applied {
		return nil, true, nil
	}
	w.applied = w.seen
	return now, true, nil
}

// A snapshot is a catalogue as it was read once, and the signs by which a change of
// its files shows.
type snapshot struct {
	path     string
	c        *catalog.Catalogue
	findings diag.Findings

	signs []sign
	trace catalog.Trace // what patterns have matched
	sum   hash.Hash     // of all contents
}

// A sign is what a file system says of a file.
type sign struct {
	name string
	info os.FileInfo // nil if there is no such file
	// young says that the file was written so shortly before it was read that it
	// could be written again without another modification time.
	young bool
}

func signOf(name string) sign {
	info, err := os.Stat(name) // what a symbolic link leads to
	if err != nil {
		return sign{name: name}
	}
	return sign{name, info, time.Since(info.ModTime()) < coarsestTime}
}

// snapshotOf reads the catalogue at path, with the files that it includes. The error
// is about the catalogue's own file.
func snapshotOf(path string) (*snapshot, error) {
	s := &snapshot{path: path, sum: sha256.New(), signs: []sign{signOf(path)}}
	s.trace.Files = s
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s.sum.Write(text)
	s.c, s.findings = catalog.ParseWith(&s.trace, path, text)
	return s, nil
}

// ReadFile implements [catalog.Files]. It looks for signs before it reads.
func (s *snapshot) ReadFile(name string) ([]byte, error) {
	s.signs = append(s.signs, signOf(name))
	text, err := catalog.Disk{}.ReadFile(name)
	fmt.Fprintf(s.sum, "\n%s %d %t\n", name, len(text), err == nil)
	s.sum.Write(text)
	return text, err
}

// Glob implements [catalog.Files].
func (s *snapshot) Glob(folder, pattern string) []string {
	return catalog.Disk{}.Glob(folder, pattern)
}

// same tells whether there is no sign of a change since. Files whose signs say
// nothing yet are read once more, which takes less than to make a catalogue of them.
func (s *snapshot) same() bool {
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
func (s *snapshot) unchanged() bool {
	again := &snapshot{sum: sha256.New()}
	text, err := os.ReadFile(s.path)
	again.sum.Write(text)
	for _, one := range s.signs[1:] {
		again.ReadFile(one.name)
	}
	return err == nil && bytes.Equal(again.sum.Sum(nil), s.sum.Sum(nil))
}
