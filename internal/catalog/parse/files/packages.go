package files

import (
	"regexp"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// packageName matches the names of imported catalogues, and of packages below the root's. Such a name stands
// before the dot in a type, as in shared.Money, and names a folder.
var packageName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// goFolders lists the names of folders that Go treats specially.
var goFolders = []string{"internal", "vendor", "testdata"}

// Packages finds the package of each file: the one that it names, or else that of the file that includes it.
func (r *Parts) Packages(root catalog.Value[string], imports *Imports) []*catalog.Package {
	r.homes = map[string]*catalog.Package{}
	byName := map[string]*catalog.Package{root.V: nil}
	var all []*catalog.Package
	for _, p := range r.all[1:] {
		p.home = p.in.home
		if e, ok := p.Entries["package"]; ok {
			name, ok := r.names.GoPackage(e)
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

// ReadJSONNames reads the JSON names of all files.
func (r *Parts) ReadJSONNames() {
	for _, p := range r.all {
		in := ""
		if p.in != nil {
			in = p.in.file
		}
		r.names.AddJSONNames(p.Object, p.file, in)
	}
}

// checkSubPackage tells whether a package below that of the root can have a name.
func (r *Parts) checkSubPackage(name catalog.Value[string], e text.Entry, imports *Imports) bool {
	reason := ""
	switch {
	case !packageName.MatchString(name.V):
		reason = "it also names a folder, so it must begin with a lower-case letter and have only such letters and digits"
	case slices.Contains(goFolders, name.V):
		reason = "Go treats a folder of that name specially"
	case strings.HasSuffix(name.V, "test"):
		reason = "names that end in test are kept for test kits"
	case imports.imported[name.V] != nil:
		reason = "an imported catalogue has that name"
	default:
		return true
	}
	r.Report(r.Place(e.Value), rules.Package, "the package of an included file cannot be named %s: %s", diag.Label(name.V), reason).
		Hint = "use a short lower-case name, such as payments"
	return false
}

// SetHomes sets the package of all types and events.
func (r *Parts) SetHomes(c *catalog.Catalogue) {
	for _, t := range c.Types {
		t.Home = r.homes[t.Name.Pos.File]
	}
	for _, e := range c.Events {
		e.Home = r.homes[e.Name.Pos.File]
	}
}

// A need is a use of a type of another package.
type need struct {
	from, to *catalog.Package
	t        *catalog.Type
	at       diag.Place
}

// needs are the uses between the packages of a catalogue.
type needs struct {
	*text.Reader
	all  []need
	done map[*catalog.Package]bool // those whose circles were reported
	path []need                    // from the one that was asked for
}

// CheckPackages reports uses between packages that Go does not allow.
func CheckPackages(r *text.Reader, c *catalog.Catalogue) {
	uses := needs{Reader: r, done: map[*catalog.Package]bool{}}
	note := func(home *catalog.Package, fields []*catalog.Field) {
		for _, f := range fields {
			if t := f.Type.Uses(); t != nil && t.Package == nil && t.Home != home && !t.IsCustom() {
				uses.all = append(uses.all, need{home, t.Home, t, r.TypeAt(f.Type)})
			}
		}
	}
	for _, e := range c.Events {
		note(e.Home, e.Values())
	}
	for _, t := range c.Types {
		note(t.Home, t.Fields)
		for _, v := range t.Variants {
			if v.Type.Home != t.Home {
				r.Report(r.NameAt(v.Name), rules.Union, "variant %s of type %s is %s, which is in %s", v.Name.V, t.Name.V, v.Type.Name.V, called(v.Type.Home)).
					Hint = "a union and its variants must be in the same Go package: declare both in files of one package"
			}
		}
	}
	for _, n := range uses.all {
		if n.from != nil && n.to == nil {
			r.Report(n.at, rules.Packages, "package %s needs type %s of the root's package, which imports it for its Catalogue", n.from.Name.V, n.t.Name.V).
				Hint = "move type " + n.t.Name.V + " into a file of package " + n.from.Name.V + ", or of one that both can import"
		}
	}
	for _, p := range c.Packages {
		if !uses.done[p] {
			uses.visit(p)
		}
	}
}

// visit reports packages that p needs, and that need p.
func (r *needs) visit(p *catalog.Package) {
	r.done[p] = true
	seen := map[*catalog.Package]bool{}
	for _, n := range r.all {
		if n.from != p || n.to == nil || seen[n.to] {
			continue
		}
		seen[n.to] = true
		r.path = append(r.path, n)
		if i := slices.IndexFunc(r.path, func(before need) bool { return before.from == n.to }); i >= 0 {
			r.circle(r.path[i:])
		} else if !r.done[n.to] {
			r.visit(n.to)
		}
		r.path = r.path[:len(r.path)-1]
	}
}

// circle reports packages that import one another, the last of them the first.
func (r *needs) circle(chained []need) {
	last := chained[len(chained)-1]
	chain := last.to.Name.V
	for _, n := range chained {
		chain += " → " + n.to.Name.V
	}
	f := r.Report(last.at, rules.Packages, "package %s needs type %s of package %s, so they would import each other: %s", last.from.Name.V, last.t.Name.V, last.to.Name.V, chain)
	for _, n := range chained[:len(chained)-1] {
		f.See(n.at, "package %s needs type %s of package %s", n.from.Name.V, n.t.Name.V, n.to.Name.V)
	}
	f.Hint = "move type " + last.t.Name.V + " into a file of package " + last.from.Name.V + ", or of one that both can import"
}

// called names a package in a message.
func called(p *catalog.Package) string {
	if p == nil {
		return "the root's package"
	}
	return "package " + p.Name.V
}
