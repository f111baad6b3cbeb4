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

// subscribed is the first declaration of a subscription name.
type subscribed struct {
	what string // for messages: subscription send-receipt of event order.placed
	key  *yaml.Node
}

// Subscriptions are the subscriptions of one catalogue, and their groups.
type Subscriptions struct {
	*Reader
	names    *Names
	parts    *Parts
	settings *Settings
	declared *declared

	byName  map[string]subscribed  // those so far
	groups  []*catalog.Group       // so far
	members map[*catalog.Group]int // how many subscriptions name them
}

func newSubscriptions(names *Names, parts *Parts, settings *Settings, declared *declared) *Subscriptions {
	return &Subscriptions{Reader: names.Reader, names: names, parts: parts, settings: settings, declared: declared,
		byName: map[string]subscribed{}, members: map[*catalog.Group]int{}}
}

// ofEvent reads `subscriptions:` of an event. Each one's Settings are only its own; policies let it inherit the event's.
func (r *Subscriptions) ofEvent(event object, eventGoName string) []*catalog.Subscription {
	section, ok := event.entries["subscriptions"]
	if !ok {
		return nil
	}
	entries, _ := r.mapping(section.value, "subscriptions of "+event.what)
	var all []*catalog.Subscription
	for _, e := range entries {
		what := "subscription " + diag.Label(e.name) + " of " + event.what
		o, _ := r.object(e.value, what, append([]string{"doc", "go_name", "aliases", "group"}, subscriptionKeys...)...)
		s := &catalog.Subscription{Name: catalog.Value[string]{V: e.name, Pos: r.position(e.key)}}
		s.GoName = "On" + eventGoName + r.names.ownGoName(o, r.names.goName(e.name))
		s.Doc = r.doc(e.key, o)
		s.Group = r.memberOf(o)
		s.Settings = r.settings.settings(o)
		if r.checkSubscriptionName(e.name, e.key, what) {
			all = append(all, s)
		}
		s.Aliases = r.subscriptionAliases(o)
	}
	return all
}

// checkSubscriptionName reports whether the name can be used. A name stands for one position in the log, so
// two events cannot share it.
func (r *Subscriptions) checkSubscriptionName(name string, n *yaml.Node, what string) bool {
	if !r.names.checkName(name, n, what, "send-receipt") {
		return false
	}
	if first, taken := r.byName[name]; taken {
		r.report(r.place(n), rules.DuplicateName, "%s has the same name as %s", what, first.what).
			See(r.place(first.key), "the first one is here").
			Hint = "rename one of them: the file records by this name what a subscription has handled"
		return false
	}
	r.byName[name] = subscribed{what, n}
	return true
}

// subscriptionAliases reads the durable names that a subscription had.
func (r *Subscriptions) subscriptionAliases(o object) []catalog.Value[string] {
	return r.names.formerNames(o, func(name catalog.Value[string], item *yaml.Node, what string) bool {
		return r.checkSubscriptionName(name.V, item, what)
	})
}

// patterns reads `subscriptions:` at the top level of all files, when the events are known. Each one's
// Settings are only its own.
func (r *Subscriptions) patterns() []*catalog.PatternSubscription {
	var all []*catalog.PatternSubscription
	for _, e := range r.parts.sections("subscriptions", "subscription") {
		what := "subscription " + diag.Label(e.name)
		o, isObject := r.object(e.value, what, append([]string{"doc", "go_name", "aliases", "pattern", "group"}, patternKeys...)...)
		s := &catalog.PatternSubscription{}
		s.Name = catalog.Value[string]{V: e.name, Pos: r.position(e.key)}
		s.GoName = "On" + r.names.ownGoName(o, r.names.goName(e.name))
		s.Doc = r.doc(e.key, o)
		s.Group = r.memberOf(o)
		s.Settings = r.settings.settings(o)
		if isObject {
			s.Patterns = r.patternsOf(o)
		}
		nameOK := r.checkSubscriptionName(e.name, e.key, what)
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
		pattern, ok := r.names.pattern(text.V, item, strings.ReplaceAll(what, "%", "%%")+" is %s, which is not a pattern: %s")
		switch {
		case !ok:
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
