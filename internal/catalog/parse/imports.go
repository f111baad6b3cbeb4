package parse

import (
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// imported is an imported catalogue with its types.
type imported struct {
	key   *yaml.Node
	file  string
	types map[string]*catalog.Type // nil if the catalogue has findings
}

// imports reads `imports:`, and the catalogues that it names.
func (r *reader) imports(root object) []*catalog.Package {
	r.imported = map[string]*imported{}
	e, ok := root.entries["imports"]
	if !ok {
		return nil
	}
	entries, _ := r.mapping(e.value, "imports")
	var all []*catalog.Package
	for _, e := range entries {
		if !packageName.MatchString(e.name) {
			r.report(r.place(e.key), rules.BadName, "imported catalogue %s does not have a valid name", label(e.name)).
				Hint = "use lower-case letters and digits, and begin with a letter, as in shared"
			continue
		}
		r.imported[e.name] = &imported{key: e.key}
		all = append(all, r.importOf(e, "import "+e.name)...)
	}
	return all
}

// importOf reads one import: the path of a catalogue, or a mapping with it and the path by which Go
// imports what is generated from it. It returns the packages of that.
func (r *reader) importOf(e entry, what string) []*catalog.Package {
	p := &catalog.Package{Name: catalog.Value[string]{V: e.name, Pos: r.position(e.key)}}
	file := e
	if e.value.Kind == yaml.MappingNode {
		o, _ := r.object(e.value, what, "catalogue", "import_path")
		p.Path = r.ownImportPath(o).V
		if file, _ = r.required(o, "catalogue", "add the path of its file, such as ../shared/events.yaml"); file.value == nil {
			return nil
		}
	}
	text, ok := r.text(file.value, "the catalogue of "+what)
	if !ok || !r.checkPath(file.value, text.V) {
		return nil
	}
	p.File = r.beside(text.V)
	c := r.importedCatalogue(p.File, file.value, e)
	if c == nil {
		return nil
	}
	if p.Path == "" {
		p.Path = c.ImportPath.V
	}
	return r.adopt(c, p)
}

// checkImportPaths reports two packages of one path.
func (r *reader) checkImportPaths(c *catalog.Catalogue) {
	first := map[string]catalog.Value[string]{c.ImportPath.V: c.Package}
	for _, p := range c.Imports {
		if p.Above != nil {
			continue
		}
		if other, taken := first[p.Path]; taken && p.Path != "" {
			r.report(r.nameAt(p.Name), rules.Import, "imports %s and %s have the same import path, %s", p.Name.V, label(other.V), p.Path).
				See(r.nameAt(other), "%s is here", label(other.V))
		}
		first[p.Path] = p.Name
	}
}

// beside returns the name of a file whose path the root gives.
func (r *reader) beside(text string) string {
	return filepath.Join(filepath.Dir(r.root), filepath.FromSlash(text))
}

// importedCatalogue reads a catalogue that n names. Its findings are findings here, too.
func (r *reader) importedCatalogue(file string, n *yaml.Node, e entry) *catalog.Catalogue {
	if !r.mayImport(file, n) {
		return nil
	}
	r.imported[e.name].file = file
	root := r.fileAt(file, n)
	if root == nil {
		return nil
	}
	other := newReader(r.files, r.sources, file)
	other.importer = r
	c := other.catalogue(root, nil)
	if len(other.findings) > 0 {
		r.findings = append(r.findings, other.findings...)
		r.report(r.place(n), rules.Import, "the imported catalogue %s has findings", label(file)).
			Hint = "correct them first: \"busgen lint\" shows them"
		return nil
	}
	return c
}

// mayImport refuses catalogues that import one another, and a second import of one.
func (r *reader) mayImport(file string, n *yaml.Node) bool {
	chain := label(file)
	for by := r; by != nil; by = by.importer {
		chain = label(by.root) + " → " + chain
		if identity(by.root) == identity(file) {
			r.report(r.place(n), rules.Import, "%s imports itself: %s", label(file), chain).
				Hint = "Go packages cannot import one another in a circle: move what both need into a third catalogue"
			return false
		}
	}
	for name, other := range r.imported {
		if other.file != "" && identity(other.file) == identity(file) {
			r.report(r.place(n), rules.Import, "%s is imported already, as %s", label(file), name).
				See(r.place(other.key), "it is here").
				Hint = "remove one of them"
			return false
		}
	}
	return true
}

// adopt makes the types of another catalogue ready for use in this one, where each has the name of the import
// in front of its own. It returns their packages.
func (r *reader) adopt(c *catalog.Catalogue, p *catalog.Package) []*catalog.Package {
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

// importedType returns a type of another catalogue, or nil after a finding.
func (r *reader) importedType(at diag.Place, text, what string) *catalog.Type {
	from, name, _ := strings.Cut(text, ".")
	other := r.imported[from]
	switch {
	case other == nil:
		var names []string
		for known := range r.imported {
			names = append(names, known+"."+name)
		}
		slices.Sort(names)
		f := r.report(at, rules.UnknownType, "unknown type %q in %s: no catalogue is imported as %s", text, what, from)
		if f.Hint = diag.DidYouMean(text, names); f.Hint == "" {
			f.Hint = "name the catalogue that has it under the key imports, at the top"
		}
		return nil
	case other.types == nil:
		return nil // there is a finding
	case other.types[name] == nil:
		var names []string
		for known := range other.types {
			names = append(names, from+"."+known)
		}
		slices.Sort(names)
		r.report(at, rules.UnknownType, "unknown type %q in %s: %s does not declare it", text, what, label(other.file)).Hint = diag.DidYouMean(text, names)
		return nil
	}
	return other.types[name]
}

// isImportedName tells whether text could be a type of another catalogue: shared.Money.
func isImportedName(text string) bool {
	from, name, found := strings.Cut(text, ".")
	return found && isWord(from) && isWord(name)
}

// foreign lists the types of other catalogues that those of this one consist of.
func foreign(c *catalog.Catalogue) []*catalog.Type {
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
