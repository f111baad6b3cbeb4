package parse

import (
	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
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
		if r.checkSubscriptionName(e, what) {
			all = append(all, s)
		}
		s.Aliases = r.subscriptionAliases(o)
	}
	return all
}

// checkSubscriptionName reports whether the name can be used. A name stands for one position in the log, so
// two events cannot share it.
func (r *Subscriptions) checkSubscriptionName(e entry, what string) bool {
	if !r.names.checkName(e, what, "send-receipt") {
		return false
	}
	if first, taken := r.byName[e.name]; taken {
		r.report(r.place(e.key), rules.DuplicateName, "%s has the same name as %s", what, first.what).
			See(r.place(first.key), "the first one is here").
			Hint = "rename one of them: the file records by this name what a subscription has handled"
		return false
	}
	r.byName[e.name] = subscribed{what, e.key}
	return true
}
