package breaking

import (
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
)

// events lists the events that a subscription is for.
func (d declared) events() []*catalog.Event {
	if d.event != nil {
		return []*catalog.Event{d.event}
	}
	return d.pattern.Events
}

// otherPatterns compares the events that a subscription is for, when it had or has patterns.
func (c *comparison) otherPatterns(old, now declared) {
	has, had := map[*catalog.Event]bool{}, map[*catalog.Event]bool{}
	for _, e := range now.events() {
		has[e] = true
	}
	var lost, gained []string
	for _, e := range old.events() {
		is := c.is[e.Name.V]
		if had[is] = true; is != nil && !has[is] {
			lost = append(lost, is.Name.V)
		}
	}
	for _, e := range now.events() {
		if c.existed(e) && !had[e] {
			gained = append(gained, e.Name.V)
		}
	}
	report := func(rule Rule, events []string, format, hint string) {
		if len(events) == 0 {
			return
		}
		slices.Sort(events)
		key := now.Name.V + " " + strings.Join(events, ",")
		c.report(draft{rule: rule, direction: diag.Backward, at: placeOfPattern(now), was: placeOfPattern(old), subject: now.subject(), key: key,
			message: fmt.Sprintf(format, now.Name.V, now.of(), named(events)), hint: hint})
	}
	c.current = nil
	if now.event != nil { // whose handler takes no other payload
		report(subscriptionMoved, lost, "subscription %s is now %s, and was also for %s", "give the new subscription a name of its own, and let the old one settle its backlog")
		return
	}
	report(subscriptionNarrowed, lost, "subscription %s %s is no longer for %s", "let the subscription settle its backlog before, or give the new one a name of its own")
	report(subscriptionWidened, gained, "subscription %s %s is also for %s, which it was not before", "let the subscription settle its backlog before, if it should not get these")
}

// existed reports whether an event is not new, but may have had another name.
func (c *comparison) existed(e *catalog.Event) bool {
	return c.was[e.Name.V] != nil || slices.ContainsFunc(e.Aliases, func(alias catalog.Value[string]) bool { return c.was[alias.V] != nil })
}

// named lists up to three events, and counts more.
func named(events []string) string {
	if len(events) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(events[:3], ", "), len(events)-3)
	}
	return strings.Join(events, ", ")
}

// placeOfPattern returns where a subscription says for which events it is.
func placeOfPattern(d declared) diag.Position {
	if d.pattern != nil && d.pattern.Patterns[0].Written() {
		return d.pattern.Patterns[0].Pos
	}
	return d.Name.Pos
}

// expiries compares the expiry of the events that a subscription was for and is for.
func (c *comparison) expiries(old, now declared) {
	for _, e := range now.events() {
		for _, before := range old.events() {
			if c.is[before.Name.V] == e {
				c.current = e
				c.expiry(old.settings(before), now.settings(e))
			}
		}
	}
	if c.current = now.event; now.event != nil && old.event != nil && c.is[old.event.Name.V] != now.event {
		c.expiry(old.Settings, now.Settings)
	}
}

// settings returns those in force for an event.
func (d declared) settings(e *catalog.Event) catalog.Settings {
	if d.pattern != nil {
		return d.pattern.For(e)
	}
	return d.Settings
}
