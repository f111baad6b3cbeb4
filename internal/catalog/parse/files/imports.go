package files

import (
	"cmp"
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

// imported is an imported catalogue with its types.
type imported struct {
	key   *yaml.Node
	file  string
	types map[string]*catalog.Type // nil if the catalogue has findings
}

// Imports are the catalogues that one catalogue imports.
type Imports struct {
	*text.Reader
	names    *names.Names
	parts    *Parts
	by       *Imports // of the catalogue that imports this one; nil if none does
	load     loader
	imported map[string]*imported // so far, by what they are called
}

// A loader reads the catalogue in a file, for the one whose imports by are.
type loader func(file string, root *yaml.Node, by *Imports) (*catalog.Catalogue, diag.Findings)

// NewImports returns a reader of imports, which load reads. by are those of the catalogue that is imported itself.
func NewImports(names *names.Names, parts *Parts, by *Imports, load loader) *Imports {
	return &Imports{parts.Reader, names, parts, by, load, map[string]*imported{}}
}

// Read reads `imports:`, and the catalogues that it names.
func (r *Imports) Read(root text.Object, c *catalog.Catalogue) {
	e, ok := root.Entries["imports"]
	if !ok {
		return
	}
	entries, _ := r.Mapping(e.Value, "imports")
	for _, e := range entries {
		if !packageName.MatchString(e.Name) {
			r.Report(r.Place(e.Key), rules.BadName, "imported catalogue %s does not have a valid name", diag.Label(e.Name)).
				Hint = "use lower-case letters and digits, and begin with a letter, as in shared"
			continue
		}
		r.imported[e.Name] = &imported{key: e.Key}
		c.Imports = append(c.Imports, r.importOf(e, "import "+e.Name)...)
	}
	r.checkPaths(c)
}

// importOf reads one import: the path of a catalogue, or a mapping with it and the path by which Go
// imports what is generated from it. It returns the packages of that.
func (r *Imports) importOf(e text.Entry, what string) []*catalog.Package {
	p := &catalog.Package{Name: catalog.Value[string]{V: e.Name, Pos: r.Position(e.Key)}}
	file := e
	if e.Value.Kind == yaml.MappingNode {
		o, _ := r.Object(e.Value, what, "catalogue", "import_path")
		p.Path = r.names.OwnImportPath(o).V
		if file, _ = r.Required(o, "catalogue", "add the path of its file, such as ../shared/events.yaml"); file.Value == nil {
			return nil
		}
	}
	text, ok := r.Text(file.Value, "the catalogue of "+what)
	if !ok || !r.parts.checkPath(file.Value, text.V) {
		return nil
	}
	p.File = filepath.Join(filepath.Dir(r.parts.all[0].file), filepath.FromSlash(text.V))
	c := r.importedCatalogue(p.File, file.Value, e)
	if c == nil {
		return nil
	}
	if p.Path == "" {
		p.Path = c.ImportPath.V
	}
	return r.adopt(c, p)
}

// checkPaths reports two packages of one path. A catalogue without a package has a finding about that already.
func (r *Imports) checkPaths(c *catalog.Catalogue) {
	first := map[string]catalog.Value[string]{c.ImportPath.V: c.Package}
	for _, p := range c.Imports {
		if p.Above != nil {
			continue
		}
		if other, taken := first[p.Path]; taken && p.Path != "" && other.Written() {
			r.Report(r.NameAt(p.Name), rules.Import, "imports %s and %s have the same import path, %s", p.Name.V, diag.Label(other.V), p.Path).
				See(r.NameAt(other), "%s is here", diag.Label(other.V))
		}
		first[p.Path] = p.Name
	}
}

// importedCatalogue reads a catalogue that n names. Its findings are findings here, too.
func (r *Imports) importedCatalogue(file string, n *yaml.Node, e text.Entry) *catalog.Catalogue {
	if !r.mayImport(file, n) {
		return nil
	}
	r.imported[e.Name].file = file
	root := r.parts.fileAt(file, n)
	if root == nil {
		return nil
	}
	c, findings := r.load(file, root, r)
	if len(findings) > 0 {
		r.Findings = append(r.Findings, findings...)
		r.Report(r.Place(n), rules.Import, "the imported catalogue %s has findings", diag.Label(file)).
			Hint = "correct them first: \"busgen lint\" shows them"
		return nil
	}
	return c
}

// mayImport refuses catalogues that import one another, and a second import of one.
func (r *Imports) mayImport(file string, n *yaml.Node) bool {
	chain := diag.Label(file)
	for by := r; by != nil; by = by.by {
		root := by.parts.all[0].file
		chain = diag.Label(root) + " → " + chain
		if identity(root) == identity(file) {
			r.Report(r.Place(n), rules.Import, "%s imports itself: %s", diag.Label(file), chain).
				Hint = "Go packages cannot import one another in a circle: move what both need into a third catalogue"
			return false
		}
	}
	for name, other := range r.imported {
		if other.file != "" && identity(other.file) == identity(file) {
			r.Report(r.Place(n), rules.Import, "%s is imported already, as %s", diag.Label(file), name).
				See(r.Place(other.key), "it is here").
				Hint = "remove one of them"
			return false
		}
	}
	return true
}

// adopt makes the types of another catalogue ready for use in this one, where each has the name of the import
// in front of its own. It returns their packages.
func (r *Imports) adopt(c *catalog.Catalogue, p *catalog.Package) []*catalog.Package {
	packages, all := map[*catalog.Package]*catalog.Package{nil: p}, []*catalog.Package{p}
	for _, below := range c.Packages {
		name := catalog.Value[string]{V: p.Name.V + below.Name.V, Pos: p.Name.Pos}
		packages[below] = &catalog.Package{Name: name, Above: p, Folder: below.Name.V}
		all = append(all, packages[below])
	}
	known := map[string]*catalog.Type{}
	for _, t := range c.Types {
		if t.Package = packages[t.Home]; !t.Inline {
			known[t.Name.V] = t
		}
	}
	prefix := p.Name.V + "."
	for _, t := range slices.Concat(c.Types, c.Imported) {
		t.Name.V = prefix + t.Name.V
		for _, f := range t.Fields {
			qualify(f.Type, prefix)
		}
	}
	r.imported[p.Name.V].types = known
	return all
}

// qualify writes a prefix in front of the declared type in t.
func qualify(t *catalog.TypeRef, prefix string) {
	if t.Uses() == nil || t.Uses().Inline {
		return
	}
	for ; t != nil; t = t.Elem {
		i := strings.LastIndexByte(t.Text, ']') + 1
		t.Text = t.Text[:i] + prefix + t.Text[i:]
	}
}

// ImportedType returns a type of another catalogue, or nil after a finding.
func (r *Imports) ImportedType(at diag.Place, text, what string) *catalog.Type {
	from, name, _ := strings.Cut(text, ".")
	other := r.imported[from]
	switch {
	case other == nil:
		var names []string
		for known := range r.imported {
			names = append(names, known+"."+name)
		}
		slices.Sort(names)
		r.Report(at, rules.UnknownType, "unknown type %q in %s: no catalogue is imported as %s", text, what, from).
			Hint = cmp.Or(diag.DidYouMean(text, names), "name the catalogue that has it under the key imports, at the top")
		return nil
	case other.types == nil:
		return nil // there is a finding
	case other.types[name] == nil:
		var names []string
		for known := range other.types {
			names = append(names, from+"."+known)
		}
		slices.Sort(names)
		r.Report(at, rules.UnknownType, "unknown type %q in %s: %s does not declare it", text, what, diag.Label(other.file)).Hint = diag.DidYouMean(text, names)
		return nil
	}
	return other.types[name]
}

// Declaring lists the imported catalogues that declare a type, sorted.
func (r *Imports) Declaring(name string) (known []string) {
	for from, other := range r.imported {
		if other.types[name] != nil {
			known = append(known, from)
		}
	}
	slices.Sort(known)
	return known
}

// IsImportedName tells whether expr could be a type of another catalogue: shared.Money.
func IsImportedName(expr string) bool {
	from, name, found := strings.Cut(expr, ".")
	return found && text.IsWord(from) && text.IsWord(name)
}

// Foreign lists the types of other catalogues that those of this one consist of.
func Foreign(c *catalog.Catalogue) []*catalog.Type {
	all := &catalog.Type{}
	for _, e := range c.Events {
		all.Fields = append(all.Fields, e.Values()...)
	}
	for _, t := range c.Types {
		all.Fields = append(all.Fields, t.Fields...)
	}
	used := catalog.Reachable(all.Fields)
	for _, t := range append(slices.Clone(used), all) {
		for _, f := range t.Fields {
			if one := f.Type.Uses(); one != nil && one.IsScalar() && !slices.Contains(used, one) {
				used = append(used, one)
			}
		}
	}
	types := slices.DeleteFunc(used, func(t *catalog.Type) bool { return t.Package == nil })
	slices.SortFunc(types, func(a, b *catalog.Type) int { return strings.Compare(a.Name.V, b.Name.V) })
	return types
}
