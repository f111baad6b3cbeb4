package breaking

import (
	"fmt"
	"slices"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// A declared is a subscription with its event or its patterns.
type declared struct {
	*catalog.Subscription
	event   *catalog.Event               // nil for one with patterns
	pattern *catalog.PatternSubscription // nil for that of an event
}

// of says for which events the subscription is.
func (d declared) of() string {
	if d.event == nil {
		return "for " + d.pattern.Pattern()
	}
	return "of event " + d.event.Name.V
}

// subject is the event that findings are about, or else the patterns.
func (d declared) subject() string {
	if d.event == nil {
		return d.pattern.Pattern()
	}
	return d.event.Name.V
}

// place is the first part of the keys of findings about the subscription.
func (d declared) place() string {
	if d.event == nil {
		return "*"
	}
	return d.event.Name.V
}

func subscriptionsOf(c *catalog.Catalogue) []declared {
	var all []declared
	for _, e := range c.Events {
		for _, s := range e.Subscriptions {
			all = append(all, declared{s, e, nil})
		}
	}
	for _, s := range c.Subscriptions {
		all = append(all, declared{&s.Subscription, nil, s})
	}
	return all
}

// byName returns the subscriptions by name and former name.
func byName(all []declared) map[string]*declared {
	names := map[string]*declared{}
	for i, s := range slices.Backward(all) { // so that the first of a name wins
		for _, alias := range s.Aliases {
			names[alias.V] = &all[i]
		}
		names[s.Name.V] = &all[i]
	}
	return names
}

func (c *comparison) allSubscriptions() {
	after := byName(subscriptionsOf(c.after))
	for _, old := range subscriptionsOf(c.before) {
		c.current = nil
		if old.event != nil {
			c.current = c.is[old.event.Name.V]
		}
		now := after[old.Name.V]
		switch {
		case now == nil:
			c.report(draft{rule: subscriptionRemoved, direction: diag.Backward, at: c.formerEvent(), was: old.Name.Pos, subject: old.subject(),
				key: old.place() + " " + old.Name.V, message: "subscription " + old.Name.V + " " + old.of() + " is gone",
				hint: "if it was renamed, add aliases: [" + old.Name.V + "] to its new name; if not, " + c.withoutIt(old)})
			continue
		case old.pattern != nil || now.pattern != nil:
			c.otherPatterns(old, *now)
		case now.event != c.current:
			c.report(draft{rule: subscriptionMoved, direction: diag.Both, at: now.Name.Pos, was: old.Name.Pos, subject: now.event.Name.V,
				key: now.Name.V + " " + old.event.Name.V + "->" + now.event.Name.V, message: fmt.Sprintf("subscription %s is for event %s, and was for event %s", now.Name.V, now.event.Name.V, old.event.Name.V),
				hint: "give the new subscription a name of its own, and let the old one settle its backlog"})
		}
		c.regrouped(old, *now)
		for _, alias := range old.Aliases {
			if after[alias.V] == nil {
				c.report(draft{rule: aliasRemoved, direction: diag.Backward, at: now.Name.Pos, was: alias.Pos, subject: now.subject(),
					key: now.place() + " " + now.Name.V + " " + alias.V, message: "alias " + alias.V + " of subscription " + now.Name.V + " is gone", hint: "keep it until every file was opened with the new name"})
			}
		}
		c.expiries(old, *now)
	}
}

// withoutIt says what to do about a subscription that is gone for good.
func (c *comparison) withoutIt(old declared) string {
	if old.Group == nil {
		return "remove it from the file with \"busgen subscriptions remove\""
	}
	for _, g := range c.after.Groups {
		if takesPlace(g.Name, g.Aliases, old.Group.Name.V) {
			return "let group " + old.Group.Name.V + " settle its backlog before, because the other members go on without it"
		}
	}
	return "remove group " + old.Group.Name.V + " from the file with \"busgen subscriptions remove\""
}

// takesPlace reports whether a durable name is that of the file that has another name.
func takesPlace(name catalog.Value[string], aliases []catalog.Value[string], place string) bool {
	return name.V == place || slices.ContainsFunc(aliases, func(alias catalog.Value[string]) bool { return alias.V == place })
}

// regrouped reports a subscription whose pending events are left to another name.
func (c *comparison) regrouped(old, now declared) {
	former, place, is, taken := "by itself", old.Name.V, "by itself", takesPlace(now.Name, now.Aliases, old.Name.V)
	hint := "let the former group settle its backlog before"
	if old.Group != nil {
		place = old.Group.Name.V
		former, taken = "in group "+place, takesPlace(now.Name, now.Aliases, place)
	}
	at, to := now.Name.Pos, now.Name.V
	if now.Group != nil {
		at, to = now.Group.Name.Pos, now.Group.Name.V
		is, taken = "in group "+to, takesPlace(now.Group.Name, now.Group.Aliases, place)
		hint = "if the group takes its place, say so at the top level: groups: { " + to + ": { aliases: [" + place + "] } }; if not, let " + place + " settle its backlog before"
	}
	if taken || old.Group == nil && now.Group == nil {
		c.groupAliases(old, now)
		return
	}
	c.report(draft{rule: subscriptionRegrouped, direction: diag.Backward, at: at, was: old.Name.Pos, subject: now.subject(),
		key: now.place() + " " + now.Name.V + " " + place + "->" + to, message: fmt.Sprintf("subscription %s %s is %s, and was %s", now.Name.V, now.of(), is, former),
		hint: hint})
}

// groupAliases reports former names that a group no longer has, once for all of its members.
func (c *comparison) groupAliases(old, now declared) {
	if old.Group == nil || now.Group == nil {
		return
	}
	for _, alias := range old.Group.Aliases {
		if !takesPlace(now.Group.Name, now.Group.Aliases, alias.V) {
			c.report(draft{rule: aliasRemoved, direction: diag.Backward, at: now.Group.Name.Pos, was: alias.Pos, subject: now.subject(),
				key: now.place() + " " + now.Group.Name.V + " " + alias.V, message: "alias " + alias.V + " of group " + now.Group.Name.V + " is gone", hint: "keep it until every file was opened with the new name"})
		}
	}
}

// formerEvent returns the position of the event of a subscription that is gone.
func (c *comparison) formerEvent() diag.Position {
	if c.current == nil {
		return c.after.Package.Pos
	}
	return c.current.Name.Pos
}

// expiry reports a shorter expires_after: once for all events and subscriptions that inherit it.
func (c *comparison) expiry(old, now catalog.Settings) {
	before, after := old.ExpiresAfter, now.ExpiresAfter
	if after.V == 0 || before.V != 0 && before.V <= after.V {
		return
	}
	was := "off"
	if before.V != 0 {
		was = before.V.String()
	}
	c.report(draft{rule: expiresSooner, direction: diag.Backward, at: after.Pos, was: before.Pos, subject: c.current.Name.V,
		key: c.current.Name.V, message: fmt.Sprintf("expires_after is %s and was %s", after.V, was)})
}
