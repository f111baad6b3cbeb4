package importer

import (
	"cmp"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/input"
)

// Files are those that the references of a document may lead to. Nothing else is read: no file outside of the
// folder, and nothing from a network.
type Files struct {
	FS     fs.FS  // the folder; that of an os.Root lets no link lead out of it
	Path   string // of the document in there, with slashes
	Folder string // what the folder is called in findings; empty for the current one
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

// A document is a file of the import.
type document struct {
	path string // in the folder
	base string // of its references: its identifier, or else its path
	root *node  // nil if it cannot be read
	// Why it cannot be read, and where the reason is.
	why string
	at  diag.Place
	// outside says that it is not below the folder.
	outside bool
}

// documents are the files that were read.
type documents struct {
	files    *Files
	byPath   map[string]*document
	order    []string // their names in findings, in the order in which they were read
	size     int64
	searched map[string]string // identifier → path, of all files in the folder; nil before it was searched
}

func newDocuments(o Options) documents {
	return documents{files: o.Files, byPath: map[string]*document{}}
}

// path of the document that is imported.
func (d *documents) path(file string) string {
	if d.files != nil {
		return d.files.Path
	}
	return filepath.Base(file)
}

// called is the name of a file in findings.
func (d *documents) called(name string) string {
	return filepath.Join(d.files.Folder, filepath.FromSlash(name))
}

// open reads a file of the folder, once.
func (im *importer) open(name string) *document {
	if doc := im.documents.byPath[name]; doc != nil {
		return doc
	}
	doc := &document{path: name}
	im.documents.byPath[name] = doc
	if !fs.ValidPath(name) {
		doc.outside, doc.why = true, "it is outside of the folder "+im.folder()
		return doc
	}
	if len(im.documents.order) > maxFiles {
		doc.why = fmt.Sprintf("an import reads at most %d files", maxFiles)
		return doc
	}
	source, err := input.ReadFS(im.documents.files.FS, name, maxBytes-im.documents.size)
	if err != nil {
		doc.why, doc.outside = im.reason(err)
		return doc
	}
	im.documents.size += int64(len(source))
	im.read(doc, im.documents.called(name), source)
	return doc
}

// read fills in a document.
func (im *importer) read(doc *document, file string, source []byte) {
	im.documents.order = append(im.documents.order, file)
	root, err := readNodes(file, source, im.report)
	if wrong, ok := err.(*sourceError); ok {
		doc.at, doc.why = wrong.at, wrong.message
		return
	}
	doc.root = root
	im.resources.identify(doc)
}

// reason is an error of a file without its name, and whether a link has led out of the folder.
func (im *importer) reason(err error) (why string, outside bool) {
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
		return "a link leads out of the folder " + im.folder(), true
	}
	return err.Error(), false
}

// compare orders places: by file, in the order in which the files were read, and then by position.
func (im *importer) compare(a, b diag.Place) int {
	files := im.documents.order
	return cmp.Or(cmp.Compare(slices.Index(files, a.Pos.File), slices.Index(files, b.Pos.File)), a.Pos.Compare(b.Pos))
}

// folder is the name of the folder that references may not leave.
func (im *importer) folder() string {
	if im.documents.files == nil || im.documents.files.Folder == "" {
		return "."
	}
	return im.documents.files.Folder
}

// identified returns the path of a file in the folder that has an identifier; empty if none has. The folder is
// searched once, and only for an identifier that the files so far do not have.
func (im *importer) identified(id string) string {
	d := &im.documents
	if d.files == nil {
		return ""
	}
	if d.searched == nil {
		d.searched = map[string]string{}
		left, size := maxSearched, int64(maxBytes)
		fs.WalkDir(d.files.FS, ".", func(name string, entry fs.DirEntry, err error) error {
			hidden := name != "." && strings.HasPrefix(path.Base(name), ".")
			switch left--; {
			case left < 0, size < 0:
				return fs.SkipAll
			case err != nil, entry.IsDir() && (hidden || entry.Name() == "node_modules"):
				return fs.SkipDir
			case !entry.Type().IsRegular() || hidden || !slices.Contains([]string{".json", ".yaml", ".yml", ".jsonschema"}, strings.ToLower(path.Ext(name))):
				return nil
			}
			source, err := input.ReadFS(d.files.FS, name, min(size, 4<<20))
			if err != nil {
				return nil
			}
			size -= int64(len(source))
			if id := identifierOf(source); id != "" && d.searched[id] == "" {
				d.searched[id] = name
			}
			return nil
		})
	}
	return d.searched[id]
}

// besides returns the path of the file that is to the file of base what one identifier is to the other, as in
// https://example.org/schemas/order.json in schemas/order.json; empty if the two have nothing in common.
func besides(base location, target string) string {
	from, err := url.Parse(base.id)
	to, toErr := url.Parse(target)
	if err != nil || toErr != nil || base.file == "" || from.Scheme != to.Scheme || from.Host != to.Host || to.Path == "" || from.Host == "" {
		return ""
	}
	relative, err := filepath.Rel(path.Dir("/"+from.Path), path.Clean("/"+to.Path))
	if err != nil {
		return ""
	}
	return path.Join(path.Dir(base.file), filepath.ToSlash(relative))
}
