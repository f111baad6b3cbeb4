// Package files reads the files of an import and finds what references lead to. A [Set] owns the files, and the schemas
// in them by their identifiers.
package files

import (
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/importer/findings"
	"github.com/busgen/busgen/internal/importer/tree"
	"github.com/busgen/busgen/internal/input"
)

// A Folder has the files that the references of a document may lead to. Nothing else is read: no file outside of the
// folder, and nothing from a network.
type Folder struct {
	FS   fs.FS  // the folder; that of an os.Root lets no link lead out of it
	Path string // of the document in there, with slashes
	Name string // what the folder is called in findings; empty for the current one
}

// The limits of all files of an import together.
const (
	maxFiles = 10_000
	maxBytes = 64 << 20
	// maxSearched bounds the files that are searched for an identifier.
	maxSearched = 5_000
)

// folderScheme begins the base of a file: what a reference in it is relative to.
const folderScheme = "folder:"

// A Document is a file of the import.
type Document struct {
	path string     // in the folder
	base string     // of its references: its identifier, or else its path
	Root *tree.Node // nil if it cannot be read
	// Why it cannot be read, and where the reason is.
	Why string
	At  diag.Place
	// outside says that it is not below the folder.
	outside bool
}

// A Set is the files of an import: those that were read, and the schemas in them by their identifiers.
type Set struct {
	*findings.List
	folder   *Folder // nil for none but the document itself
	main     string  // the path of the document that is imported
	byPath   map[string]*Document
	size     int64
	searched map[string]string // identifier → path, of all files in the folder; nil before it was searched

	schemas map[string]*tree.Node    // by base, or by base#anchor
	bases   map[*tree.Node]*location // what is around a $ref, by its text
	found   map[foundAt]Found
}

// New returns the files of an import; folder is nil for the document alone.
func New(file string, folder *Folder, findings *findings.List) *Set {
	main := filepath.Base(file)
	if folder != nil {
		main = folder.Path
	}
	return &Set{
		List: findings, folder: folder, main: main, byPath: map[string]*Document{},
		schemas: map[string]*tree.Node{}, bases: map[*tree.Node]*location{}, found: map[foundAt]Found{},
	}
}

// Load reads the document that is imported.
func (set *Set) Load(file string, source []byte) *Document {
	doc := &Document{path: set.main}
	set.byPath[doc.path] = doc
	set.size = int64(len(source))
	set.read(doc, file, source)
	return doc
}

// open reads a file of the folder, once.
func (set *Set) open(name string) *Document {
	if doc := set.byPath[name]; doc != nil {
		return doc
	}
	doc := &Document{path: name}
	set.byPath[name] = doc
	if !fs.ValidPath(name) {
		doc.outside, doc.Why = true, "it is outside of the folder "+set.folderName()
		return doc
	}
	if len(set.List.Files) > maxFiles {
		doc.Why = fmt.Sprintf("an import reads at most %d files", maxFiles)
		return doc
	}
	source, err := input.ReadFS(set.folder.FS, name, maxBytes-set.size)
	if err != nil {
		doc.Why, doc.outside = set.reason(err)
		return doc
	}
	set.size += int64(len(source))
	set.read(doc, filepath.Join(set.folder.Name, filepath.FromSlash(name)), source)
	return doc
}

// read fills in a document.
func (set *Set) read(doc *Document, file string, source []byte) {
	set.List.Files = append(set.List.Files, file)
	root, err := tree.Read(file, source, set.Report)
	if wrong, ok := err.(*tree.Error); ok {
		doc.At, doc.Why = wrong.At, wrong.Message
		return
	}
	doc.Root = root
	set.identify(doc)
}

// reason is an error of a file without its name, and whether a link has led out of the folder.
func (set *Set) reason(err error) (why string, outside bool) {
	for {
		switch wrapped := err.(type) {
		case *fs.PathError:
			err = wrapped.Err
			continue
		case *input.TooLargeError:
			return fmt.Sprintf("the files of an import have at most %d MiB together", maxBytes>>20), false
		}
		break
	}
	if strings.Contains(err.Error(), "escapes") {
		return "a link leads out of the folder " + set.folderName(), true
	}
	return err.Error(), false
}

// folderName is the name of the folder that references may not leave.
func (set *Set) folderName() string {
	if set.folder == nil || set.folder.Name == "" {
		return "."
	}
	return set.folder.Name
}

// identified returns the path of a file in the folder that has an identifier; empty if none has. The folder is
// searched once, and only for an identifier that the files so far do not have.
func (set *Set) identified(id string) string {
	if set.folder == nil {
		return ""
	}
	if set.searched == nil {
		set.searched = map[string]string{}
		left, size := maxSearched, int64(maxBytes)
		fs.WalkDir(set.folder.FS, ".", func(name string, entry fs.DirEntry, err error) error {
			hidden := name != "." && strings.HasPrefix(path.Base(name), ".")
			switch left--; {
			case left < 0, size < 0:
				return fs.SkipAll
			case err != nil, entry.IsDir() && (hidden || entry.Name() == "node_modules"):
				return fs.SkipDir
			case !entry.Type().IsRegular() || hidden ||
				!slices.Contains([]string{".json", ".yaml", ".yml", ".jsonschema"}, strings.ToLower(path.Ext(name))):
				return nil
			}
			source, err := input.ReadFS(set.folder.FS, name, min(size, 4<<20))
			if err != nil {
				return nil
			}
			size -= int64(len(source))
			if id := identifierOf(source); id != "" && set.searched[id] == "" {
				set.searched[id] = name
			}
			return nil
		})
	}
	return set.searched[id]
}

// besides returns the path of the file that is to the file of base what one identifier is to the other, as in
// https://example.org/schemas/order.json in schemas/order.json; empty if the two have nothing in common.
func besides(base location, target string) string {
	from, err := url.Parse(base.id)
	to, toErr := url.Parse(target)
	if err != nil || toErr != nil || base.file == "" || from.Scheme != to.Scheme || from.Host != to.Host ||
		to.Path == "" || from.Host == "" {
		return ""
	}
	relative, err := filepath.Rel(path.Dir("/"+from.Path), path.Clean("/"+to.Path))
	if err != nil {
		return ""
	}
	return path.Join(path.Dir(base.file), filepath.ToSlash(relative))
}
