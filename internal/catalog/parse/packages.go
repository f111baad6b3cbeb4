package parse

import (
	"regexp"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// packageName matches the names of imported catalogues, and of packages below the root's. Such a name stands
// before the dot in a type, as in shared.Money, and names a folder.
var packageName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// goFolders lists the names of folders that Go treats specially.
var goFolders = set("internal", "vendor", "testdata")

// packages finds the package of each file: the one that it names, or else that of the file that includes it.
func (r *Parts) packages(root catalog.Value[string], imports *Imports) []*catalog.Package {
	r.homes = map[string]*catalog.Package{}
	byName := map[string]*catalog.Package{root.V: nil}
	var all []*catalog.Package
	for _, p := range r.all[1:] {
		p.home = p.in.home
		if e, ok := p.entries["package"]; ok {
			name, ok := r.names.goPackage(e)
			if ok {
				ok = r.checkSubPackage(name, e, imports)
			}
			if _, known := byName[name.V]; ok && !known {
				byName[name.V] = &catalog.Package{Name: name}
				all = append(all, byName[name.V])
			}
			p.home = byName[name.V]
		}
		r.homes[p.file] = p.home
	}
	return all
}

// readStyles reads the JSON names of all files.
func (r *Parts) readStyles() {
	for _, p := range r.all {
		in := ""
		if p.in != nil {
			in = p.in.file
		}
		r.names.readJSONNames(p.object, p.file, in)
	}
}

// checkSubPackage tells whether a package below that of the root can have a name.
func (r *Parts) checkSubPackage(name catalog.Value[string], e entry, imports *Imports) bool {
	reason := ""
	switch {
	case !packageName.MatchString(name.V):
		reason = "it also names a folder, so it must begin with a lower-case letter and have only such letters and digits"
	case goFolders[name.V]:
		reason = "Go treats a folder of that name specially"
	case strings.HasSuffix(name.V, "test"):
		reason = "names that end in test are kept for test kits"
	case imports.imported[name.V] != nil:
		reason = "an imported catalogue has that name"
	default:
		return true
	}
	r.report(r.place(e.value), rules.Package, "the package of an included file cannot be named %s: %s", diag.Label(name.V), reason).
		Hint = "use a short lower-case name, such as payments"
	return false
}

// setHomes sets the package of all types and events.
func (r *Parts) setHomes(c *catalog.Catalogue) {
	for _, t := range c.Types {
		t.Home = r.homes[t.Name.Pos.File]
	}
	for _, e := range c.Events {
		e.Home = r.homes[e.Name.Pos.File]
	}
}
