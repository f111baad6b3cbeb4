package parse

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog/parse/files"
	"github.com/busgen/busgen/internal/input"
)

// Disk reads files of the computer.
type Disk struct{}

// MaxFile limits the bytes of a file of a catalogue.
const MaxFile = 16 << 20

// ReadFile implements [Files]. It refuses files larger than [MaxFile], and what is no regular file, which
// could have no end.
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

// Memory are files in memory. Other files are read from Below, unless it is nil. The texts must not change
// while a catalogue is read.
type Memory struct {
	Text  map[string][]byte // by clean name
	Below files.Files
}

// ReadFile implements [Files].
func (t Memory) ReadFile(name string) ([]byte, error) {
	if text, ok := t.Text[filepath.Clean(name)]; ok {
		return text, nil
	}
	if t.Below == nil {
		return nil, fs.ErrNotExist
	}
	return t.Below.ReadFile(name)
}

// Glob implements [Files].
func (t Memory) Glob(folder, pattern string) []string {
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

// A Trace records which files and patterns were read from Files, to find out later whether they changed. It
// is not safe for concurrent use.
type Trace struct {
	files.Files
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

// Moved reports whether a pattern matches other files now.
func (t *Trace) Moved() bool {
	return slices.ContainsFunc(t.globs, func(g globbed) bool {
		return strings.Join(t.Files.Glob(g.folder, g.pattern), "\n") != g.matches
	})
}

type Files = files.Files
