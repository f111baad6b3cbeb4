package names

import (
	"slices"
	"strconv"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

// A claim is a part of a catalogue that makes Go names in the generated package.
type claim struct {
	what  string // for messages: event order.placed
	at    diag.Place
	names []string
}

// packageNames lists the names that generated code always declares.
var packageNames = []string{"Open", "Catalogue", "SubscribeAll", "AnyEvent"}

// methodNames lists the methods of generated structs. In Go, a field and a method cannot share a name.
var methodNames = []string{"Validate", "String", "WriteJSON", "ReadJSON", "MarshalJSON", "UnmarshalJSON", "UpgradeJSON"}

// claims lists what a catalogue declares, in file order.
func (r *Names) claims(c *catalog.Catalogue) []claim {
	var all []claim
	add := func(what string, written catalog.Value[string], names ...string) {
		all = append(all, claim{what, r.NameAt(written), names})
	}
	for _, t := range c.Types {
		names := []string{t.GoName}
		if t.IsEnum() {
			names = append(names, "All"+t.GoName)
		}
		if t.IsUnion() {
			names = append(names, "Visit"+t.GoName)
		}
		if t.Inline {
			all = append(all, claim{"the struct " + t.GoName + " in place", r.WordAt(t.Name.Pos), names})
		} else {
			add("type "+t.Name.V, t.Name, names...)
		}
		for _, v := range t.Values {
			add("value "+diag.Label(v.Name.V)+" of type "+t.Name.V, v.Name, v.GoName)
		}
	}
	for _, t := range c.ForeignUnions() { // they need functions of their own here
		add("type "+t.Name.V, t.Package.Name, t.LocalName())
	}
	for _, e := range c.Events {
		n := e.GoName
		add("event "+e.Label(), e.Local, n, n+"Type", "Publish"+n, "Subscribe"+n)
		if len(e.Subscriptions) > 0 {
			add("subscriptions of event "+e.Label(), e.Local, n+"Subscription", "Undeclared"+n)
		}
		if e.Result != nil {
			add("result of event "+e.Label(), catalog.Value[string]{V: "result", Pos: e.Result.Pos}, "Answer"+n, "Request"+n, "Collect"+n)
		}
		for _, old := range e.History {
			what := "version " + strconv.Itoa(old.Version.V) + " of event " + e.Label()
			all = append(all, claim{what, r.WordAt(old.Version.Pos), []string{old.UpcastName()}})
		}
	}
	for _, e := range c.Events {
		for _, s := range e.Subscriptions {
			add("subscription "+s.Name.V+" of event "+e.Label(), s.Name, s.GoName)
		}
	}
	for _, s := range c.Subscriptions {
		add("subscription "+s.Name.V, s.Name, s.GoName, s.FunctionName())
	}
	for _, class := range c.ErrorClasses {
		add("error class "+class.Name.V, class.Name, class.GoName)
	}
	for _, l := range c.Limits {
		add("limit "+l.Name, catalog.Value[string]{V: l.Name, Pos: l.Pos}, l.GoName)
	}
	for _, h := range c.AllHeaders() {
		if c.Part == nil {
			add("header "+h.Name.V, h.Name, h.Constant(), h.Option(), h.Accessor())
		}
	}
	for _, ns := range c.Namespaces {
		add("namespace "+ns.Name+".*", ns.Events[0].Name, ns.GoName+"Event", "Subscribe"+ns.GoName)
	}
	slices.SortStableFunc(all, func(a, b claim) int { return r.Compare(a.at.Pos, b.at.Pos) })
	return all
}

// CheckCollisions reports Go names that two things in a catalogue claim, or
// that generated code needs itself: once for each pair of things.
func (r *Names) CheckCollisions(c *catalog.Catalogue) {
	owner := map[string]claim{}
	type pair struct{ first, second string }
	reported := map[pair]bool{}
	for _, cl := range r.claims(c) {
		for _, name := range cl.names {
			first, taken := owner[name]
			switch {
			case slices.Contains(packageNames, name):
				if taken && first.at.Pos == cl.at.Pos {
					continue // an event and its namespace, which is the same word
				}
				owner[name] = cl
				r.Report(cl.at, rules.Reserved, "%s makes the Go name %s, which generated code needs for itself", cl.what, name).
					Hint = "rename it, or give it another go_name"
			case !taken:
				owner[name] = cl
			case !reported[pair{first.what, cl.what}]:
				reported[pair{first.what, cl.what}] = true
				r.Report(cl.at, rules.Collision, "%s makes the Go name %s, and so does %s", cl.what, name, first.what).
					See(first.at, "%s is here", first.what).
					Hint = "rename one of them, or give it another go_name"
			}
		}
	}
	for _, t := range c.Types {
		r.checkFieldCollisions("type "+t.Name.V, t.Fields)
	}
	for _, e := range c.Events {
		r.checkFieldCollisions("payload of event "+e.Label(), e.Fields)
	}
}

func (r *Names) checkFieldCollisions(what string, fields []*catalog.Field) {
	owner := map[string]*catalog.Field{}
	for _, f := range fields {
		names := []string{f.GoName}
		if f.HasDefaultMethod() {
			names = append(names, catalog.DefaultName(f))
		}
		for _, name := range names {
			at := r.NameAt(f.Local)
			first := owner[name]
			switch {
			case first != nil && first.Mixin != nil && first.Mixin == f.Mixin: // a finding of the mixin
			case slices.Contains(methodNames, name) && f.Mixin != nil: // a finding of the mixin
			case slices.Contains(methodNames, name):
				r.Report(at, rules.Reserved, "field %s of %s makes the Go name %s, which generated structs use for a method", f.Label(), what, name).
					Hint = "rename it, or give it another go_name"
			case first == nil:
				owner[name] = f
			default:
				r.Report(at, rules.Collision, "field %s of %s makes the Go name %s, and so does field %s", f.Label(), what, name, first.Label()).
					See(r.NameAt(first.Local), "field %s is here", first.Label()).
					Hint = "rename one of them, or give it another go_name"
			}
		}
	}
}
