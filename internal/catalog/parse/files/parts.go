package files

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/names"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// Files reads the files that a catalogue includes or imports. Names are those of the operating system,
// relative to the same folder as the name of the catalogue.
type Files interface {
	// ReadFile returns the content of a file. The error is an fs.ErrNotExist if there is none.
	ReadFile(name string) ([]byte, error)
	// Glob returns the names of the files in folder, and below, that a pattern of
	// [path.Match] matches, sorted. Nothing is wrong with a pattern that matches none.
	Glob(folder, pattern string) []string
}

// A part is one file of a catalogue: the root, or one that another part includes.
type part struct {
	text.Object                  // its top-level keys
	file        string           // its name
	in          *part            // the one that includes it; nil for the root
	at          diag.Place       // where
	home        *catalog.Package // where its code goes; nil for the root's package
}

// Limits of what is included: an include may name something by accident, such as a tree of folders.
const (
	maxFiles     = 1000
	maxIncluded  = 64 << 20 // bytes of all files but the root
	maxWildcards = 2        // segments of a pattern: more would search the disk
)

// rootKeys are the keys of the root, and partKeys those of an included file.
var (
	rootKeys = []string{"version", "package", "import_path", "test_kit", "include", "imports", "initialisms", "go_types", "json_names", "cloudevents", "lint", "accepted", "limits", "headers", "defaults", "policies", "types", "events", "subscriptions", "groups", "schedules"}
	partKeys = []string{"version", "package", "include", "json_names", "limits", "headers", "policies", "types", "events", "subscriptions", "groups", "schedules"}
)

// IncludedKeys lists the top-level keys of included files.
func IncludedKeys() []string { return slices.Clone(partKeys) }

// Parts are the files of one catalogue.
type Parts struct {
	*text.Reader
	names    *names.Names
	files    Files
	all      []*part                     // the root, and each file before those that it includes itself
	included map[string]*part            // those so far, by identity
	homes    map[string]*catalog.Package // the packages of files; nil is that of the root
	// incomplete is set if a file could not be read: what it declares is missed elsewhere.
	Incomplete bool
}

// Read reads the root and everything that it includes. It returns nil if the root is no mapping.
func Read(r *text.Reader, names *names.Names, files Files, file string, root *yaml.Node) *Parts {
	o, ok := r.Object(root, "the catalogue", rootKeys...)
	if !ok {
		return nil
	}
	p := &part{Object: o, file: file}
	all := &Parts{Reader: r, names: names, files: files, included: map[string]*part{identity(file): p}}
	all.all = append([]*part{p}, all.includes(p)...)
	return all
}

// Root returns the top-level keys of the root.
func (r *Parts) Root() text.Object { return r.all[0].Object }

// Written returns the entries of one top-level key in all files.
func (r *Parts) Written(key string) (all []text.Entry) {
	for _, p := range r.all {
		if e, ok := p.Entries[key]; ok {
			all = append(all, e)
		}
	}
	return all
}

// FileNames returns the names of all files.
func (r *Parts) FileNames() (names []string) {
	for _, p := range r.all {
		names = append(names, p.file)
	}
	return names
}

// includes reads what a file includes, and what that includes.
func (r *Parts) includes(p *part) []*part {
	e, ok := p.Entries["include"]
	if !ok {
		return nil
	}
	if e.Value.Kind != yaml.SequenceNode {
		r.WrongKind(e.Value, "include of "+p.What, "a list of files")
		return nil
	}
	var all []*part
	for _, item := range e.Value.Content {
		text, ok := r.Text(item, "one of include of "+p.What)
		if !ok {
			r.Incomplete = true
			continue
		}
		for _, name := range r.filesOf(item, text.V, p) {
			if next := r.includedFile(name, item, p); next != nil {
				all = append(append(all, next), r.includes(next)...)
			}
		}
	}
	return all
}

// filesOf returns the files that one text of an include names. The reader is incomplete after
// a finding: other parts may need a file that was not read.
func (r *Parts) filesOf(item *yaml.Node, text string, p *part) []string {
	refuse := func(hint, format string, args ...any) []string {
		r.Incomplete = true
		r.Report(r.Place(item), rules.Include, format, args...).Hint = hint
		return nil
	}
	_, badPattern := path.Match(text, "")
	switch {
	case !r.checkPath(item, text):
		r.Incomplete = true
		return nil
	case badPattern != nil:
		return refuse("* stands for any characters, ? for one, [a-z] for one of some", "%s is not a pattern of files", diag.Label(text))
	case strings.Contains(text, "**"):
		return refuse("write one * for each folder, as in teams/*/events.yaml", "%s has a ** in it, which no pattern of files has", diag.Label(text))
	}
	text = path.Clean(text)
	if !isPattern(text) {
		return []string{filepath.Join(filepath.Dir(p.file), filepath.FromSlash(text))}
	}
	folder, pattern := splitPattern(text)
	wild := slices.DeleteFunc(strings.Split(pattern, "/"), func(s string) bool { return !isPattern(s) })
	if len(wild) > maxWildcards {
		return refuse("name folders, or include a file that includes others", "%s has wildcards in more than %d places of its path", diag.Label(text), maxWildcards)
	}
	var names []string
	for _, name := range r.files.Glob(filepath.Join(filepath.Dir(p.file), filepath.FromSlash(folder)), pattern) {
		hidden := strings.HasPrefix(filepath.Base(name), ".") && !strings.HasPrefix(path.Base(pattern), ".")
		if !hidden && identity(name) != identity(p.file) {
			names = append(names, name)
		}
	}
	if names == nil {
		return refuse("correct the pattern or remove it", "no file matches %s", diag.Label(text))
	}
	return names
}

// checkPath reports what cannot be a path of a file.
func (r *Parts) checkPath(n *yaml.Node, text string) bool {
	refuse := func(hint, format string, args ...any) bool {
		r.Report(r.Place(n), rules.Include, format, args...).Hint = hint
		return false
	}
	switch {
	case text == "":
		return refuse("name a file, as in payments.yaml", "a path is empty")
	case path.IsAbs(text) || filepath.IsAbs(text) || strings.HasPrefix(text, "~"):
		return refuse("a path begins at the folder of the file that names it, so that the catalogue can be moved", "%s is an absolute path", diag.Label(text))
	case strings.Contains(text, `\`):
		return refuse("write /, on every operating system", `%s has a \ in it`, diag.Label(text))
	}
	return true
}

// identity returns the same text for all names of a file, except symbolic links.
func identity(name string) string {
	if absolute, err := filepath.Abs(name); err == nil {
		return absolute
	}
	return filepath.Clean(name)
}

func isPattern(text string) bool { return strings.ContainsAny(text, "*?[") }

// splitPattern cuts the folders off a clean pattern that have no wildcards.
func splitPattern(text string) (folder, pattern string) {
	segments := strings.Split(text, "/")
	first := slices.IndexFunc(segments, isPattern)
	return path.Join(segments[:first]...), path.Join(segments[first:]...)
}

// includedFile reads one file that p includes. It returns nil if the file cannot be a part.
func (r *Parts) includedFile(name string, item *yaml.Node, p *part) *part {
	at := r.Place(item)
	if !r.mayInclude(name, at, p) {
		r.Incomplete = true
		return nil
	}
	next := &part{file: name, in: p, at: at}
	r.included[identity(name)] = next
	root := r.fileAt(name, item)
	if root == nil {
		r.Incomplete = true
		return nil
	}
	var ok bool
	if next.Object, ok = r.Object(root, "the included file "+diag.Label(name), partKeys...); ok {
		r.Version(next.Object)
	}
	return next
}

// mayInclude refuses a file that is a part already.
func (r *Parts) mayInclude(name string, at diag.Place, p *part) bool {
	first, known := r.included[identity(name)]
	if !known {
		return true
	}
	chain := diag.Label(name)
	for by := p; by != nil; by = by.in {
		chain = diag.Label(by.file) + " → " + chain
		if by == first {
			r.Report(at, rules.Include, "%s includes itself: %s", diag.Label(name), chain).Hint = "remove this one"
			return false
		}
	}
	r.Report(at, rules.Include, "%s is included already", diag.Label(name)).
		See(first.at, "it is included here").
		Hint = "include each file once: remove one of them"
	return false
}

// fileAt reads a file that n names, and returns its root, or nil after a finding.
func (r *Parts) fileAt(name string, n *yaml.Node) *yaml.Node {
	if r.Full {
		return nil
	}
	at := r.Place(n)
	text, err := r.files.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		var names []string
		for _, other := range r.files.Glob(filepath.Dir(name), "*") {
			names = append(names, path.Join(path.Dir(n.Value), filepath.Base(other)))
		}
		r.Report(at, rules.Include, "there is no file %s", diag.Label(name)).Hint = diag.DidYouMean(n.Value, names)
		return nil
	case err != nil:
		var inner *fs.PathError
		if errors.As(err, &inner) {
			err = inner.Err
		}
		r.Report(at, rules.Include, "%s cannot be read: %v", diag.Label(name), err)
		return nil
	case !r.Admit(len(text), maxFiles, maxIncluded):
		r.Report(at, rules.Include, "the catalogue is made of more than %d files, or more than %d MiB", maxFiles, maxIncluded>>20).
			Hint = "include fewer, or make catalogues of their own"
		return nil
	}
	return r.Document(name, "the included file "+diag.Label(name), text)
}

// Sections returns the entries of a section of all files. Of those with one name it
// returns the first; what tells what they are.
func (r *Parts) Sections(section, what string) []text.Entry {
	var all []text.Entry
	first := map[string]text.Entry{}
	for _, p := range r.all {
		e, ok := p.Entries[section]
		if !ok {
			continue
		}
		in := section
		if p.in != nil {
			in += " of " + p.What
		}
		entries, _ := r.Mapping(e.Value, in)
		for _, e := range entries {
			if before, taken := first[e.Name]; taken {
				r.Report(r.Place(e.Key), rules.DuplicateName, "%s %s is declared in two files", what, diag.Label(e.Name)).
					See(r.Place(before.Key), "the first one is here").
					Hint = "the files of a catalogue share their names: rename one of them, or remove it"
				continue
			}
			first[e.Name] = e
			all = append(all, e)
		}
	}
	return all
}
