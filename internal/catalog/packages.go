package catalog

import (
	"regexp"
	"slices"
	"strings"
)

// subPackage is the alphabet of packages below that of the root: each is the name of a folder and a
// part of an import path, too.
var subPackage = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// goFolders are names of folders that Go treats in a way of its own.
var goFolders = set("internal", "vendor", "testdata")

// packages finds out into which package the code of each file goes: the one that it says
// itself, or else that of the file that includes it.
func (r *reader) packages(parts []*part, root Value[string]) []*Package {
	r.homes = map[string]*Package{}
	byName := map[string]*Package{root.V: nil}
	var all []*Package
	for _, p := range parts[1:] {
		p.home = p.in.home
		if e, ok := p.entries["package"]; ok {
			name, ok := r.goPackage(e)
			if ok {
				ok = r.checkSubPackage(name, e)
			}
			if _, known := byName[name.V]; ok && !known {
				byName[name.V] = &Package{Name: name}
				all = append(all, byName[name.V])
			}
			p.home = byName[name.V]
		}
		r.homes[p.file] = p.home
	}
	return all
}

// checkSubPackage tells whether a package below that of the root can have a name.
func (r *reader) checkSubPackage(name Value[string], e entry) bool {
	reason := ""
	switch {
	case !subPackage.MatchString(name.V):
		reason = "its folder and its import path have the same name, of lower-case letters and digits"
	case goFolders[name.V]:
		reason = "a folder of that name means something else to Go"
	case strings.HasSuffix(name.V, "test"):
		reason = "test kits have such names"
	case r.imported[name.V] != nil:
		reason = "an imported catalogue is called so"
	default:
		return true
	}
	r.report(r.place(e.value), RulePackage, "package below that of the root cannot be named %s: %s", label(name.V), reason).
		Hint = "use a short lower-case name, such as payments"
	return false
}

// setHomes says of all types and events in which package they are.
func (r *reader) setHomes(c *Catalogue) {
	for _, t := range c.Types {
		t.Home = r.homes[t.Name.Pos.File]
	}
	for _, e := range c.Events {
		e.Home = r.homes[e.Name.Pos.File]
	}
}

// A need is a type of another package that something is made of.
type need struct {
	from, to *Package
	t        *Type
	at       Place
}

// checkPackages reports what Go does not allow between the packages of a catalogue.
func (r *reader) checkPackages(c *Catalogue) {
	var needs []need
	note := func(home *Package, fields []*Field) {
		for _, f := range fields {
			if t := f.Type.named(); t != nil && t.Package == nil && t.Home != home && !t.IsCustom() {
				needs = append(needs, need{home, t.Home, t, r.typeAt(f.Type)})
			}
		}
	}
	for _, e := range c.Events {
		note(e.Home, e.Fields)
	}
	for _, t := range c.Types {
		note(t.Home, t.Fields)
		for _, v := range t.Variants {
			if v.Type.Home != t.Home {
				r.report(r.nameAt(v.Name), RuleUnion, "variant %s of type %s is %s, which is in %s", v.Name.V, t.Name.V, v.Type.Name.V, v.Type.Home.called()).
					Hint = "a struct is made a variant in its own Go package: declare both in files of one"
			}
		}
	}
	for _, n := range needs {
		if n.from != nil && n.to == nil {
			r.report(n.at, RulePackages, "package %s needs type %s of the root's package, which imports it for its Catalogue", n.from.Name.V, n.t.Name.V).
				Hint = "move type " + n.t.Name.V + " into a file of package " + n.from.Name.V + ", or of one that both can import"
		}
	}
	r.checkCircles(c.Packages, needs)
}

// checkCircles reports packages that import one another.
func (r *reader) checkCircles(packages []*Package, needs []need) {
	done := map[*Package]bool{}
	var path []need
	var visit func(p *Package)
	visit = func(p *Package) {
		done[p] = true
		seen := map[*Package]bool{}
		for _, n := range needs {
			if n.from != p || n.to == nil || seen[n.to] {
				continue
			}
			seen[n.to] = true
			path = append(path, n)
			if i := slices.IndexFunc(path, func(before need) bool { return before.from == n.to }); i >= 0 {
				r.circle(path[i:])
			} else if !done[n.to] {
				visit(n.to)
			}
			path = path[:len(path)-1]
		}
	}
	for _, p := range packages {
		if !done[p] {
			visit(p)
		}
	}
}

func (r *reader) circle(needs []need) {
	last := needs[len(needs)-1]
	chain := last.to.Name.V
	for _, n := range needs {
		chain += " → " + n.to.Name.V
	}
	f := r.report(last.at, RulePackages, "package %s needs type %s of package %s, and they import one another: %s", last.from.Name.V, last.t.Name.V, last.to.Name.V, chain)
	for _, n := range needs[:len(needs)-1] {
		f.see(n.at, "package %s needs type %s of package %s", n.from.Name.V, n.t.Name.V, n.to.Name.V)
	}
	f.Hint = "move type " + last.t.Name.V + " into a file of package " + last.from.Name.V + ", or of one that both can import"
}

// called is a package in a message.
func (p *Package) called() string {
	if p == nil {
		return "the root's package"
	}
	return "package " + p.Name.V
}

// InGo is a Go name that belongs to e, as the users of its package write it if that is not the
// root's: payments.PaymentReceived.
func (e *Event) InGo(name string) string {
	if e.Home == nil {
		return name
	}
	return e.Home.Name.V + "." + name
}

// In returns the catalogue as one of its packages sees it; nil is that of the root, whose import
// path is given. Types and events of other packages have a Package there. The catalogue
// itself stays as it is.
func (c *Catalogue) In(p *Package, importPath string) *Catalogue {
	if len(c.Packages) == 0 {
		return c
	}
	v := newViewer(c, p, importPath)
	view := *c
	view.Part, view.Types, view.Events = p, nil, nil
	view.Imports, view.Imported = slices.Clone(c.Imports), slices.Clone(c.Imported)
	for _, other := range c.Packages {
		view.Imports = append(view.Imports, v.packages[other])
	}
	for _, t := range c.Types {
		if one := v.typ(t); one.Package == nil {
			view.Types = append(view.Types, one)
		} else {
			view.Imported = append(view.Imported, one)
		}
	}
	events := map[*Event]*Event{}
	view.All = nil
	for _, e := range c.Events {
		events[e] = v.event(e)
		view.All = append(view.All, events[e])
		if e.Home == p {
			view.Events = append(view.Events, events[e])
		}
	}
	if p != nil {
		view.Package = p.Name
		view.ErrorClasses = classesOf(c.ErrorClasses, view.Events)
	}
	view.Namespaces = nil
	for _, ns := range c.Namespaces {
		if one := ns.in(p, events); one != nil {
			view.Namespaces = append(view.Namespaces, one)
		}
	}
	return &view
}

// in is a namespace as a package sees it: with its interface if all of its events are in that, and
// without one in the root if they are in several.
func (ns *Namespace) in(p *Package, events map[*Event]*Event) *Namespace {
	one := &Namespace{Name: ns.Name, GoName: ns.GoName}
	here := 0
	for _, e := range ns.Events {
		if e.Home == p {
			here++
		}
		one.Events = append(one.Events, events[e])
	}
	together := !slices.ContainsFunc(ns.Events, func(e *Event) bool { return e.Home != ns.Events[0].Home })
	switch {
	case together && here > 0:
		return one
	case !together && p == nil:
		one.Spread = true
		return one
	}
	return nil
}

// classesOf lists the error classes for which settings of the events have rules.
func classesOf(all []*ErrorClass, events []*Event) []*ErrorClass {
	used := map[string]bool{}
	note := func(s Settings) {
		for _, rule := range s.Errors {
			used[rule.Class.V] = true
		}
	}
	for _, e := range events {
		note(e.Settings)
		for _, s := range e.Subscriptions {
			note(s.Settings)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c *ErrorClass) bool { return !used[c.Name.V] })
}

// ForeignUnions lists the unions of other packages that fields of this one have.
func (c *Catalogue) ForeignUnions() []*Type {
	used := map[*Type]bool{}
	note := func(fields []*Field) {
		for _, f := range fields {
			used[f.Type.named()] = true
		}
	}
	for _, e := range c.Events {
		note(e.Fields)
	}
	for _, t := range c.Types {
		note(t.Fields)
	}
	return slices.DeleteFunc(slices.Clone(c.Imported), func(t *Type) bool { return !t.IsUnion() || !used[t] })
}

// A viewer copies what the packages of a catalogue see in different ways.
type viewer struct {
	of       *Package
	packages map[*Package]*Package // with their import paths; nil is that of the root
	types    map[*Type]*Type
}

func newViewer(c *Catalogue, of *Package, importPath string) *viewer {
	v := &viewer{of: of, types: map[*Type]*Type{}, packages: map[*Package]*Package{nil: {Name: c.Package, Path: importPath}}}
	for _, p := range c.Packages {
		v.packages[p] = &Package{Name: p.Name, Path: importPath + "/" + p.Name.V}
	}
	return v
}

// seen is where something is whose home is a package; nil if that is the one that looks.
func (v *viewer) seen(home *Package) *Package {
	if home == v.of {
		return nil
	}
	return v.packages[home]
}

// typ copies a type of the catalogue. Those of imported ones are the same for all.
func (v *viewer) typ(t *Type) *Type {
	if t == nil || t.Package != nil {
		return t
	}
	if one := v.types[t]; one != nil {
		return one
	}
	one := *t
	v.types[t] = &one
	one.Package = v.seen(t.Home)
	one.Fields = v.fields(t.Fields)
	if t.IsUnion() {
		one.Variants = []*Variant{}
		for _, variant := range t.Variants {
			one.Variants = append(one.Variants, &Variant{variant.Name, v.typ(variant.Type)})
		}
	}
	return &one
}

func (v *viewer) fields(fields []*Field) []*Field {
	var all []*Field
	for _, f := range fields {
		one := *f
		one.Type = v.ref(f.Type)
		all = append(all, &one)
	}
	return all
}

func (v *viewer) ref(t *TypeRef) *TypeRef {
	if t.named() == nil {
		return t
	}
	one := *t
	if one.Named = v.typ(t.Named); t.Elem != nil {
		one.Elem = v.ref(t.Elem)
	}
	return &one
}

func (v *viewer) event(e *Event) *Event {
	one := *e
	one.Package = v.seen(e.Home)
	one.Fields = v.fields(e.Fields)
	for i, f := range e.Fields {
		if f == e.PartitionBy {
			one.PartitionBy = one.Fields[i]
		}
	}
	one.History = nil
	for _, old := range e.History {
		shape := *old
		shape.Type = v.typ(old.Type)
		one.History = append(one.History, &shape)
	}
	return &one
}
