package catalog

import "slices"

// In returns the catalogue as one of its packages sees it; nil is that of the root, whose import path is
// given. Types and events of other packages have a Package there. In does not change c.
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
		view.Package, view.Subscriptions = p.Name, nil
		view.ErrorClasses = classesOf(c.ErrorClasses, view.Events)
		view.Limits = limitsOf(c.Limits, view.Events)
	}
	view.Namespaces = nil
	for _, ns := range c.Namespaces {
		if one := ns.in(p, events); one != nil {
			view.Namespaces = append(view.Namespaces, one)
		}
	}
	return &view
}

// in returns the namespace as a package sees it. The package that has all of its events has its interface; if
// several packages have events, the root sees it without one. Otherwise in returns nil.
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
		for _, s := range e.Declared() {
			note(s.Settings)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c *ErrorClass) bool { return !used[c.Name.V] })
}

// limitsOf lists the limits that settings of the events name.
func limitsOf(all []*Limit, events []*Event) []*Limit {
	used := map[*Limit]bool{}
	note := func(s Settings) {
		for _, use := range s.Limits.V {
			used[use.Limit] = true
		}
	}
	for _, e := range events {
		note(e.Settings)
		for _, s := range e.Declared() {
			note(s.Settings)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(l *Limit) bool { return !used[l] })
}

// ForeignUnions lists the unions of other packages that fields of this one have.
func (c *Catalogue) ForeignUnions() []*Type {
	used := map[*Type]bool{}
	note := func(fields []*Field) {
		for _, f := range fields {
			used[f.Type.Declared()] = true
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
	root := &Package{Name: c.Package, Path: importPath}
	v := &viewer{of: of, types: map[*Type]*Type{}, packages: map[*Package]*Package{nil: root}}
	for _, p := range c.Packages {
		v.packages[p] = &Package{Name: p.Name, Path: importPath + "/" + p.Name.V}
	}
	return v
}

// seen returns the package of something with this home, or nil if it is the viewing package.
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
	if t.Uses() == nil {
		return t
	}
	one := *t
	one.Scalar = v.typ(t.Scalar)
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
		if f == e.DedupeBy {
			one.DedupeBy = one.Fields[i]
		}
		if f == e.AwaitBy {
			one.AwaitBy = one.Fields[i]
		}
	}
	if e.Result != nil {
		result := *e.Result
		result.Type = v.ref(e.Result.Type)
		one.Result = &result
	}
	one.History = nil
	for _, old := range e.History {
		shape := *old
		shape.Type = v.typ(old.Type)
		one.History = append(one.History, &shape)
	}
	return &one
}
