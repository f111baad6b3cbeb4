package events

import (
	"cmp"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

const groupExample = "payment-chain"

// memberOf reads `group:` of a subscription. It returns nil without one, and after a finding.
func (r *Subscriptions) memberOf(o text.Object) *catalog.Group {
	text, n := r.TextOf(o, "group")
	if n == nil || !r.names.CheckName(text.V, n, "group "+diag.Label(text.V)+" of "+o.What, groupExample) {
		return nil
	}
	if batch, both := o.Entries["batch"]; both {
		r.Report(r.Place(batch.Key), rules.Group, "%s has batches, and members of a group handle events one by one", o.What).
			See(r.Place(o.Entries["group"].Key), "group is here").
			Hint = "remove one of the two"
	}
	i := slices.IndexFunc(r.groups, func(g *catalog.Group) bool { return g.Name.V == text.V })
	if i < 0 {
		i = len(r.groups)
		r.groups = append(r.groups, &catalog.Group{Name: text})
	}
	r.members[r.groups[i]]++
	return r.groups[i]
}

// ReadGroups reads `groups:` of all files, when the subscriptions are known, and returns all groups.
func (r *Subscriptions) ReadGroups(patterns []*catalog.PatternSubscription) []*catalog.Group {
	listed := map[*catalog.Group]bool{}
	for _, e := range r.parts.Sections("groups", "group") {
		what := "group " + diag.Label(e.Name)
		o, _ := r.Object(e.Value, what, "doc", "aliases")
		if !r.names.CheckName(e.Name, e.Key, what, groupExample) {
			continue
		}
		i := slices.IndexFunc(r.groups, func(g *catalog.Group) bool { return g.Name.V == e.Name })
		if i < 0 {
			r.withoutMembers(e, what)
			continue
		}
		g := r.groups[i]
		listed[g] = true
		g.Name.Pos = r.Position(e.Key)
		g.Doc = r.Doc(e.Key, o)
		r.groupAliases(o, g, patterns)
	}
	for _, g := range r.groups {
		r.checkGroup(g, listed[g])
	}
	return r.groups
}

// withoutMembers reports an entry of `groups:` that no subscription names.
func (r *Subscriptions) withoutMembers(e text.Entry, what string) {
	if r.declared.Incomplete {
		return
	}
	var names []string
	for _, g := range r.groups {
		names = append(names, g.Name.V)
	}
	r.Report(r.Place(e.Key), rules.Group, "%s has no members", what).
		Hint = cmp.Or(diag.DidYouMean(e.Name, names), "name it in subscriptions, as in audit: { group: "+e.Name+" }, or remove it")
}

// groupAliases reads the former names of a group. One of them may be the name of a member, whose place in the log
// the group then takes.
func (r *Subscriptions) groupAliases(o text.Object, g *catalog.Group, patterns []*catalog.PatternSubscription) {
	g.Aliases = r.names.FormerNames(o, func(name string, n *yaml.Node, what string) bool {
		if !r.names.CheckName(name, n, what, groupExample) {
			return false
		}
		member := func(s *catalog.Subscription) bool { return s.Group == g && s.Name.V == name }
		for _, event := range r.declared.Events {
			if slices.ContainsFunc(event.Subscriptions, member) {
				return true
			}
		}
		if slices.ContainsFunc(patterns, func(s *catalog.PatternSubscription) bool { return member(&s.Subscription) }) {
			return true
		}
		return r.checkName(name, n, what)
	})
}

// checkGroup reports a group whose name is taken, and one that is likely to be a typo.
func (r *Subscriptions) checkGroup(g *catalog.Group, listed bool) {
	at := r.NameAt(g.Name)
	if first, taken := r.byName[g.Name.V]; taken {
		r.Report(at, rules.DuplicateName, "group %s has the same name as %s", g.Name.V, first.what).
			See(r.Place(first.key), "it is here").
			Hint = "rename one of them: the file records by this name which events are handled"
		return
	}
	if r.members[g] > 1 || listed || r.parts.Incomplete {
		return
	}
	var names []string
	for _, other := range r.groups {
		if other != g {
			names = append(names, other.Name.V)
		}
	}
	r.Report(at, rules.Group, "group %s has only one member", g.Name.V).
		Hint = cmp.Or(diag.DidYouMean(g.Name.V, names), "add another; or if one is meant, say so at the top level: groups: { "+g.Name.V+": {} }")
}
