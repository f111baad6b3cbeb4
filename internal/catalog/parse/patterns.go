package parse

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
)

// patternKeys are the keys of a subscription at the top level. It has no batches, because a batch has events of one type.
var patternKeys = append([]string{"doc", "go_name", "aliases", "pattern", "group"},
	slices.DeleteFunc(slices.Clone(subscriptionKeys), func(key string) bool { return key == "batch" })...)

// patterns reads `subscriptions:` at the top level of all files, when the events are known. Each one's
// Settings are only its own.
func (r *Subscriptions) patterns() []*catalog.PatternSubscription {
	var all []*catalog.PatternSubscription
	for _, e := range r.parts.sections("subscriptions", "subscription") {
		what := "subscription " + diag.Label(e.name)
		o, isObject := r.object(e.value, what, patternKeys...)
		s := &catalog.PatternSubscription{}
		s.Name = catalog.Value[string]{V: e.name, Pos: r.position(e.key)}
		s.GoName = "On" + r.names.ownGoName(o, r.names.goName(e.name))
		s.Doc = r.doc(e.key, o)
		s.Group = r.memberOf(o)
		s.Settings = r.settings.settings(o)
		if isObject {
			s.Patterns = r.patternsOf(o)
		}
		nameOK := r.checkSubscriptionName(e, what)
		s.Aliases = r.subscriptionAliases(o)
		if nameOK {
			s.FindEvents(r.declared.events)
			all = append(all, s)
		}
	}
	return all
}

// patternsOf reads `pattern:`, a pattern or a list of them.
func (r *Subscriptions) patternsOf(o object) []catalog.Value[glob.Pattern] {
	e, ok := r.required(o, "pattern", "say for which events it is, as in pattern: order.*, or declare it under the event that it is for")
	if !ok {
		return nil
	}
	what, items := "pattern of "+o.what, []*yaml.Node{e.value}
	if e.value.Kind == yaml.SequenceNode {
		what, items = "an entry of "+what, e.value.Content
	}
	if len(items) == 0 {
		r.report(r.place(e.value), rules.PatternUnused, "pattern of %s is an empty list", o.what).Hint = `write at least one; "*" is for every event`
	}
	var all []catalog.Value[glob.Pattern]
	first := map[string]*yaml.Node{}
	for _, item := range items {
		text, ok := r.text(item, what)
		if !ok {
			continue
		}
		pattern, err := glob.Parse(text.V)
		switch {
		case err != nil:
			r.names.syntaxOf(entry{name: text.V, key: item}, err, rules.BadGlob, strings.ReplaceAll(what, "%", "%%")+" is %s, which is not a pattern: %s")
		case first[text.V] != nil:
			r.report(r.place(item), rules.DuplicateName, "%s has pattern %s twice", o.what, text.V).
				See(r.place(first[text.V]), "it is here").Hint = "remove one of them"
		default:
			first[text.V] = item
			r.checkSubscribed(pattern, item, o.what)
			all = append(all, catalog.Value[glob.Pattern]{V: pattern, Pos: text.Pos})
		}
	}
	return all
}

// checkSubscribed reports a pattern that matches no event: after a typo the subscription would wait in vain.
func (r *Subscriptions) checkSubscribed(p glob.Pattern, at *yaml.Node, what string) {
	one := catalog.PatternSubscription{Patterns: []catalog.Value[glob.Pattern]{{V: p}}}
	if r.declared.incomplete && (!r.declared.none || r.parts.incomplete) || slices.ContainsFunc(r.declared.events, one.Covers) {
		return
	}
	f := r.report(r.place(at), rules.PatternUnused, "pattern %s of %s matches no event", p, what)
	f.Hint = correctPattern
	if !r.mayGuess() {
		return
	}
	var known []string
	for _, n := range r.names.namespaces(r.declared.events) {
		known = append(known, n.Name+".*")
	}
	for _, e := range r.declared.events {
		if p.Match(e.Label()) {
			f.Hint = "patterns of subscriptions match names on the wire: " + e.Label() + " is " + e.Name.V + " there"
			return
		}
		known = append(known, e.Name.V)
	}
	if hint := diag.DidYouMean(p.String(), known); hint != "" {
		f.Hint = hint
	}
}
