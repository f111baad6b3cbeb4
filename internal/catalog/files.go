package catalog

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/input"
)

// Files is where the files are read from that a catalogue includes. Names are those
// of the operating system, relative to wherever the catalogue's own name is.
type Files interface {
	// ReadFile returns the content of a file. The error is an fs.ErrNotExist if there is none.
	ReadFile(name string) ([]byte, error)
	// Glob returns the names of the files in folder, and below, that a pattern of
	// [path.Match] matches, sorted. Nothing is wrong with a pattern that matches none.
	Glob(folder, pattern string) []string
}

// Disk has the files of the computer.
type Disk struct{}

// MaxFile is how many bytes a file of a catalogue may have.
const MaxFile = 16 << 20

// ReadFile implements [Files]. What is no regular file, and could have no end, is
// refused, and so is what is larger than [MaxFile].
func (Disk) ReadFile(name string) ([]byte, error) { return input.ReadFile(name, MaxFile) }

// Glob implements [Files].
func (Disk) Glob(folder, pattern string) []string {
	matches, _ := fs.Glob(os.DirFS(folder), pattern) // the pattern was checked, and what cannot be read has no files
	var names []string
	for _, match := range matches {
		names = append(names, filepath.Join(folder, filepath.FromSlash(match)))
	}
	slices.Sort(names)
	return names
}

// Texts are files in memory. What is not there is in Below, unless that is nil. They must
// not change while they are read.
type Texts struct {
	Text  map[string][]byte // by clean name
	Below Files
}

// ReadFile implements [Files].
func (t Texts) ReadFile(name string) ([]byte, error) {
	if text, ok := t.Text[filepath.Clean(name)]; ok {
		return text, nil
	}
	if t.Below == nil {
		return nil, fs.ErrNotExist
	}
	return t.Below.ReadFile(name)
}

// Glob implements [Files].
func (t Texts) Glob(folder, pattern string) []string {
	var names []string
	if t.Below != nil {
		names = t.Below.Glob(folder, pattern)
	}
	for name := range t.Text {
		rest, err := filepath.Rel(folder, name)
		if err != nil {
			continue
		}
		if matches, _ := path.Match(pattern, filepath.ToSlash(rest)); matches && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// A Trace remembers what was asked of Files, so that somebody can tell when the answer is
// another one. It is not safe for concurrent use.
type Trace struct {
	Files
	Names []string // of the files, in order, also of those that could not be read
	globs []globbed
}

type globbed struct{ folder, pattern, matches string }

// ReadFile implements [Files].
func (t *Trace) ReadFile(name string) ([]byte, error) {
	t.Names = append(t.Names, name)
	return t.Files.ReadFile(name)
}

// Glob implements [Files].
func (t *Trace) Glob(folder, pattern string) []string {
	names := t.Files.Glob(folder, pattern)
	t.globs = append(t.globs, globbed{folder, pattern, strings.Join(names, "\n")})
	return names
}

// Moved tells whether there are other files now where patterns looked for some.
func (t *Trace) Moved() bool {
	return slices.ContainsFunc(t.globs, func(g globbed) bool {
		return strings.Join(t.Files.Glob(g.folder, g.pattern), "\n") != g.matches
	})
}
