package types

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/files"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// maxMixedIn limits how many fields all mixins of a catalogue bring. A short file could have billions.
const maxMixedIn = 100_000

// mixing gives payloads and structs the fields of their mixins.
type mixing struct {
	*text.Reader
	pending []*mixer                 // payloads and structs that lack the fields of their mixins
	of      map[*catalog.Type]*mixer // all so far
	path    []*mixer                 // of those that are being completed, each a mixin of the one before
	fields  int                      // that mixins have brought so far
	full    bool                     // they are too many
}

// A mixer is a payload or a struct with mixins.
type mixer struct {
	t    *catalog.Type
	what string // for messages: payload of event order.placed
	done bool
	deep int // how many mixins are in one another
}

// mixins reads `mixins:` of a payload or a struct. [mixing.mixIn] adds the fields that they bring.
func (r *Types) mixins(o text.Object, t *catalog.Type, what string) {
	e, ok := o.Entries["mixins"]
	if !ok {
		return
	}
	first := map[string]catalog.Value[string]{}
	for item, name := range r.Texts(e, "mixins of "+o.What, "a list of structs") {
		if before, taken := first[name.V]; taken {
			r.Report(r.Place(item), rules.Mixin, "%s is already in mixins of %s", diag.Label(name.V), o.What).
				See(r.NameAt(before), "it is here").
				Hint = "a payload or struct has the fields of a mixin once: remove one of them"
			continue
		}
		first[name.V] = name
		if of := r.mixinNamed(item, name.V, "mixins of "+o.What); of != nil {
			t.Mixins = append(t.Mixins, &catalog.Mixin{Name: name, Type: of})
		}
	}
	r.mixing.add(&mixer{t: t, what: what})
}

// mixinNamed returns the type of a name, or nil after a finding. Whether it is a struct is not known yet.
func (r *Types) mixinNamed(n *yaml.Node, name, what string) *catalog.Type {
	switch t := r.ByName[name]; {
	case t != nil:
		return t
	case files.IsImportedName(name):
		return r.imports.ImportedType(r.Place(n), name, what)
	case r.parts.Incomplete:
		return nil // it may be declared in a file that could not be read
	}
	if _, built := catalog.Scalars[name]; built || !text.IsWord(name) {
		r.Report(r.Place(n), rules.Mixin, "%s has %s, which is not the name of a struct", what, diag.Label(name)).
			Hint = structsOnly
		return nil
	}
	r.Report(r.Place(n), rules.UnknownType, "unknown type %q in %s", name, what).
		Hint = cmp.Or(diag.DidYouMean(name, slices.Sorted(maps.Keys(r.ByName))), "declare it under types, with fields")
	return nil
}

const structsOnly = "a mixin is a type with fields: name one that is declared under types"

func (r *mixing) add(m *mixer) {
	r.of[m.t] = m
	r.pending = append(r.pending, m)
}

// mixIn gives payloads and structs the fields of their mixins. All types must be known.
func (r *mixing) mixIn() {
	for _, m := range r.pending {
		r.complete(m)
	}
	r.pending = nil
}

// complete gives one payload or struct the fields of its mixins, which are completed first.
func (r *mixing) complete(m *mixer) {
	if m.done || r.full {
		return
	}
	r.path = append(r.path, m)
	m.t.Mixins = slices.DeleteFunc(m.t.Mixins, func(use *catalog.Mixin) bool { return !r.mayMixIn(m, use) })
	r.path = r.path[:len(r.path)-1]
	m.done = true
	r.bring(m)
}

// mayMixIn completes a mixin, or reports why something cannot have it.
func (r *mixing) mayMixIn(m *mixer, use *catalog.Mixin) bool {
	at := r.NameAt(use.Name)
	if !use.Type.IsStruct() {
		r.Report(at, rules.Mixin, "%s has the mixin %s, which is not a struct", m.what, diag.Label(use.Name.V)).Hint = structsOnly
		return false
	}
	next := r.of[use.Type]
	if next == nil {
		return true // it has none itself, or is of another catalogue
	}
	if i := slices.Index(r.path, next); i >= 0 {
		var chain strings.Builder
		for _, one := range r.path[i:] {
			chain.WriteString(one.t.Name.V + " → ")
		}
		r.Report(at, rules.Mixin, "type %s is a mixin of itself: %s%s", use.Name.V, chain.String(), use.Name.V).
			Hint = "remove it from one of these mixins"
		return false
	}
	r.complete(next)
	if next.deep+1 >= maxNesting {
		r.Report(at, rules.Mixin, "mixins of %s have mixins more than %d deep", m.what, maxNesting).
			Hint = "name the structs that have the fields"
		return false
	}
	m.deep = max(m.deep, next.deep+1)
	return true
}

// bring adds the fields that mixins bring, and what they reserve. A field that comes on two ways is there once.
func (r *mixing) bring(m *mixer) {
	var fields []*catalog.Field
	var reserved []reservedName
	byPlace, byName := map[diag.Position]bool{}, map[string]*catalog.Field{}
	for _, use := range m.t.Mixins {
		if r.fields += len(use.Type.Fields); r.fields > maxMixedIn {
			r.full = true
			r.Report(r.NameAt(use.Name), rules.OutOfRange, "the mixins of the catalogue bring more than %d fields to payloads and structs", maxMixedIn).
				Hint = "give these fields to a struct, and the payloads a field of that type"
			return
		}
		for _, f := range use.Type.Fields {
			if byPlace[f.Local.Pos] {
				continue
			}
			byPlace[f.Local.Pos] = true
			if other := byName[f.Label()]; other != nil {
				r.Report(r.NameAt(use.Name), rules.DuplicateName, "mixins %s and %s of %s both have a field %s", other.Mixin.Name.V, use.Name.V, m.what, f.Label()).
					See(r.NameAt(other.Local), "that of %s is here", other.Mixin.Name.V).
					See(r.NameAt(f.Local), "that of %s is here", use.Name.V).
					Hint = "rename one of them, or move the field into a mixin that both have"
				continue
			}
			byName[f.Label()] = f.Through(use)
			fields = append(fields, byName[f.Label()])
		}
		for _, name := range use.Type.Reserved {
			if !byPlace[name.Pos] {
				byPlace[name.Pos] = true
				reserved = append(reserved, reservedName{name, use})
			}
		}
	}
	for _, f := range m.t.Fields {
		if other := byName[f.Label()]; other != nil {
			r.Report(r.NameAt(f.Local), rules.DuplicateName, "%s has a field %s, and so has its mixin %s", m.what, f.Label(), other.Mixin.Name.V).
				See(r.NameAt(other.Local), "that of %s is here", other.Mixin.Name.V).
				See(r.NameAt(other.Mixin.Name), "%s is a mixin here", other.Mixin.Name.V).
				Hint = "remove one of them: what is here has the fields of its mixins"
			continue
		}
		fields = append(fields, f)
	}
	for _, name := range m.t.Reserved {
		reserved = append(reserved, reservedName{name, nil})
	}
	between := fieldNames{Reader: r.Reader, what: m.what, between: true}
	between.check(fields, reserved)
	m.t.Fields, m.t.Reserved = fields, nil
	for _, name := range reserved {
		m.t.Reserved = append(m.t.Reserved, name.Value)
	}
}
