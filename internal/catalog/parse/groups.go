package parse

import (
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

const groupExample = "payment-chain"

// memberOf reads `group:` of a subscription. It returns nil without one, and after a finding.
func (r *Subscriptions) memberOf(o object) *catalog.Group {
	e, ok := o.entries["group"]
	if !ok {
		return nil
	}
	text, ok := r.text(e.value, "group of "+o.what)
	if !ok || !r.names.checkName(text.V, e.value, "group "+diag.Label(text.V)+" of "+o.what, groupExample) {
		return nil
	}
	if batch, both := o.entries["batch"]; both {
		r.report(r.place(batch.key), rules.Group, "%s has batches, and members of a group handle events one by one", o.what).
			See(r.place(e.key), "group is here").
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

// groupSection reads `groups:` of all files, when the subscriptions are known, and returns all groups.
func (r *Subscriptions) groupSection(patterns []*catalog.PatternSubscription) []*catalog.Group {
	listed := map[*catalog.Group]bool{}
	for _, e := range r.parts.sections("groups", "group") {
		what := "group " + diag.Label(e.name)
		o, _ := r.object(e.value, what, "doc", "aliases")
		if !r.names.checkName(e.name, e.key, what, groupExample) {
			continue
		}
		i := slices.IndexFunc(r.groups, func(g *catalog.Group) bool { return g.Name.V == e.name })
		if i < 0 {
			r.withoutMembers(e, what)
			continue
		}
		g := r.groups[i]
		listed[g] = true
		g.Name.Pos = r.position(e.key)
		g.Doc = r.doc(e.key, o)
		r.groupAliases(o, g, patterns)
	}
	for _, g := range r.groups {
		r.checkGroup(g, listed[g])
	}
	return r.groups
}

// withoutMembers reports an entry of `groups:` that no subscription names.
func (r *Subscriptions) withoutMembers(e entry, what string) {
	if r.declared.incomplete {
		return
	}
	var names []string
	for _, g := range r.groups {
		names = append(names, g.Name.V)
	}
	f := r.report(r.place(e.key), rules.Group, "%s has no members", what)
	if f.Hint = diag.DidYouMean(e.name, names); f.Hint == "" {
		f.Hint = "name it in subscriptions, as in audit: { group: " + e.name + " }, or remove it"
	}
}

// groupAliases reads the former names of a group. One of them may be the name of a member, whose place in the log
// the group then takes.
func (r *Subscriptions) groupAliases(o object, g *catalog.Group, patterns []*catalog.PatternSubscription) {
	g.Aliases = r.names.formerNames(o, func(name catalog.Value[string], item *yaml.Node, what string) bool {
		if !r.names.checkName(name.V, item, what, groupExample) {
			return false
		}
		member := func(s *catalog.Subscription) bool { return s.Group == g && s.Name.V == name.V }
		for _, event := range r.declared.events {
			if slices.ContainsFunc(event.Subscriptions, member) {
				return true
			}
		}
		if slices.ContainsFunc(patterns, func(s *catalog.PatternSubscription) bool { return member(&s.Subscription) }) {
			return true
		}
		return r.checkSubscriptionName(name.V, item, what)
	})
}

// checkGroup reports a group whose name is taken, and one that is likely to be a typo.
func (r *Subscriptions) checkGroup(g *catalog.Group, listed bool) {
	at := r.nameAt(g.Name)
	if first, taken := r.byName[g.Name.V]; taken {
		r.report(at, rules.DuplicateName, "group %s has the same name as %s", g.Name.V, first.what).
			See(r.place(first.key), "it is here").
			Hint = "rename one of them: the file records by this name which events are handled"
		return
	}
	if r.members[g] > 1 || listed || r.parts.incomplete {
		return
	}
	var names []string
	for _, other := range r.groups {
		if other != g {
			names = append(names, other.Name.V)
		}
	}
	f := r.report(at, rules.Group, "group %s has only one member", g.Name.V)
	if f.Hint = diag.DidYouMean(g.Name.V, names); f.Hint == "" {
		f.Hint = "add another; or if one is meant, say so at the top level: groups: { " + g.Name.V + ": {} }"
	}
}
