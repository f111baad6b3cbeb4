package events

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/files"
	"github.com/busgen/busgen/internal/catalog/parse/names"
	"github.com/busgen/busgen/internal/catalog/parse/settings"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/internal/setting"
)

// subscribed is the first declaration of a subscription name.
type subscribed struct {
	what string // for messages: subscription send-receipt of event order.placed
	key  *yaml.Node
}

// Subscriptions are the subscriptions of one catalogue, and their groups.
type Subscriptions struct {
	*text.Reader
	names    *names.Names
	parts    *files.Parts
	settings *settings.Settings
	declared *settings.Declared

	byName  map[string]subscribed  // those so far
	groups  []*catalog.Group       // so far
	members map[*catalog.Group]int // how many subscriptions name them
}

// NewSubscriptions returns a reader of subscriptions.
func NewSubscriptions(names *names.Names, parts *files.Parts, settings *settings.Settings,
	declared *settings.Declared) *Subscriptions {
	return &Subscriptions{Reader: names.Reader, names: names, parts: parts, settings: settings, declared: declared,
		byName: map[string]subscribed{}, members: map[*catalog.Group]int{}}
}

// ofEvent reads `subscriptions:` of an event. Each one's Settings are only its own; policies let it inherit the
// event's.
func (r *Subscriptions) ofEvent(event text.Object, eventGoName string) []*catalog.Subscription {
	var all []*catalog.Subscription
	for _, e := range r.MappingOf(event, "subscriptions") {
		what := "subscription " + diag.Label(e.Name) + " of " + event.What
		o, _ := r.Object(e.Value, what, append(ownKeys, setting.SubscriptionKeys...)...)
		s := r.subscription(e, o, "On"+eventGoName)
		if r.checkName(e.Name, e.Key, what) {
			all = append(all, &s)
		}
		s.Aliases = r.names.FormerNames(o, r.checkName)
	}
	return all
}

// ownKeys are the keys of every subscription besides its settings.
var ownKeys = slices.Clip([]string{"doc", "go_name", "aliases", "group"})

// subscription reads what all subscriptions have, but for the aliases: the name is to be checked before.
func (r *Subscriptions) subscription(e text.Entry, o text.Object, goPrefix string) catalog.Subscription {
	return catalog.Subscription{
		Name:     catalog.Value[string]{V: e.Name, Pos: r.Position(e.Key)},
		GoName:   goPrefix + r.names.OwnGoName(o, r.names.GoName(e.Name)),
		Doc:      r.Doc(e.Key, o),
		Group:    r.memberOf(o),
		Settings: r.settings.Of(o),
	}
}

// checkName reports whether the name can be used. A name stands for one position in the log, so
// two events cannot share it.
func (r *Subscriptions) checkName(name string, n *yaml.Node, what string) bool {
	if !r.names.CheckName(name, n, what, "send-receipt") {
		return false
	}
	if first, taken := r.byName[name]; taken {
		r.Report(r.Place(n), rules.DuplicateName, "%s has the same name as %s", what, first.what).
			See(r.Place(first.key), "the first one is here").
			Hint = "rename one of them: the file records by this name what a subscription has handled"
		return false
	}
	r.byName[name] = subscribed{what, n}
	return true
}

// ReadPatterns reads `subscriptions:` at the top level of all files, when the events are known. Each one's Settings are
// only its own.
func (r *Subscriptions) ReadPatterns() []*catalog.PatternSubscription {
	var all []*catalog.PatternSubscription
	for _, e := range r.parts.Sections("subscriptions", "subscription") {
		what := "subscription " + diag.Label(e.Name)
		keys := slices.Concat(ownKeys[:3], []string{"pattern"}, ownKeys[3:], setting.PatternKeys)
		o, isObject := r.Object(e.Value, what, keys...)
		s := &catalog.PatternSubscription{Subscription: r.subscription(e, o, "On")}
		if isObject {
			s.Patterns = r.patternsOf(o)
		}
		nameOK := r.checkName(e.Name, e.Key, what)
		s.Aliases = r.names.FormerNames(o, r.checkName)
		if nameOK {
			s.FindEvents(r.declared.Events)
			all = append(all, s)
		}
	}
	return all
}

// patternsOf reads `pattern:`, a pattern or a list of them.
func (r *Subscriptions) patternsOf(o text.Object) []catalog.Value[glob.Pattern] {
	e, ok := r.Required(o, "pattern", "say for which events it is, as in pattern: order.*, or declare it under the event that it is for")
	if !ok {
		return nil
	}
	what, items := "pattern of "+o.What, []*yaml.Node{e.Value}
	if e.Value.Kind == yaml.SequenceNode {
		what, items = "an entry of "+what, e.Value.Content
	}
	if len(items) == 0 {
		r.Report(r.Place(e.Value), rules.PatternUnused, "pattern of %s is an empty list", o.What).Hint = `write at least one; "*" is for every event`
	}
	var all []catalog.Value[glob.Pattern]
	first := map[string]*yaml.Node{}
	for _, item := range items {
		text, ok := r.Text(item, what)
		if !ok {
			continue
		}
		pattern, ok := r.names.Pattern(text.V, item, strings.ReplaceAll(what, "%", "%%")+" is %s, which is not a pattern: %s")
		switch {
		case !ok:
		case first[text.V] != nil:
			r.Report(r.Place(item), rules.DuplicateName, "%s has pattern %s twice", o.What, text.V).
				See(r.Place(first[text.V]), "it is here").Hint = "remove one of them"
		default:
			first[text.V] = item
			r.checkSubscribed(pattern, item, o.What)
			all = append(all, catalog.Value[glob.Pattern]{V: pattern, Pos: text.Pos})
		}
	}
	return all
}

// checkSubscribed reports a pattern that matches no event: after a typo the subscription would wait in vain.
func (r *Subscriptions) checkSubscribed(p glob.Pattern, at *yaml.Node, what string) {
	one := catalog.PatternSubscription{Patterns: []catalog.Value[glob.Pattern]{{V: p}}}
	mayBe := r.declared.Incomplete && (!r.declared.None || r.parts.Incomplete)
	if mayBe || slices.ContainsFunc(r.declared.Events, one.Covers) {
		return
	}
	f := r.Report(r.Place(at), rules.PatternUnused, "pattern %s of %s matches no event", p, what)
	f.Hint = settings.CorrectPattern
	if !r.MayGuess() {
		return
	}
	var known []string
	for _, n := range r.names.Namespaces(r.declared.Events) {
		known = append(known, n.Name+".*")
	}
	for _, e := range r.declared.Events {
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
