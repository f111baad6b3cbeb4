package runtime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/glob"
)

// PatternSubscription is a durable name that the catalogue declares for all event types that match a pattern. It
// exists from [Open] on. [SubscribeNamespace] and [SubscribePattern] give it a handler.
type PatternSubscription struct {
	Name     string
	Patterns []string // of event types, as those of [SubscribePattern]; at least one
	Own      Override // over the settings of each event type, unless the call that subscribes overrides them
	Aliases  []string // names it had before
	// Group and GroupAliases are as those of [DeclaredSubscription]. The member comes after those that event types
	// declare.
	Group        string
	GroupAliases []string
}

// pattern returns the patterns with blanks between them.
func (s PatternSubscription) pattern() string { return strings.Join(s.Patterns, " ") }

// Covers reports whether a pattern matches the name of an event type, or one that it had before.
func (s PatternSubscription) Covers(t Definition) bool {
	set, err := glob.ParseSet(s.pattern())
	return err == nil && slices.ContainsFunc(append(typeOf(t).Aliases(), t.Name()), set.Match)
}

// For returns the settings of the subscription for an event type that it matches.
func (s PatternSubscription) For(t Definition) Settings {
	return typeOf(t).Settings().With(s.Own)
}

// WithSubscriptions adds subscriptions for patterns to a catalogue, and returns it. It panics if one is not valid, if
// it matches no event type, or if its name is there already. Generated code calls it before anything else uses the
// catalogue.
func (c *Catalogue) WithSubscriptions(subscriptions ...PatternSubscription) *Catalogue {
	const function = "runtime.Catalogue.WithSubscriptions"
	for _, s := range subscriptions {
		if problem := c.patternProblem(s); problem != "" {
			panic(fmt.Sprintf("%s: subscription %q: %s", function, s.Name, problem))
		}
		d := DeclaredSubscription{Name: s.Name, Aliases: s.Aliases, Group: s.Group, GroupAliases: s.GroupAliases}
		c.declared[s.Name] = declared{DeclaredSubscription: d, pattern: s.pattern(), byPattern: true, own: s.Own}
		c.addToGroup(d, s.Patterns...)
		c.patterns = append(c.patterns, s)
	}
	c.checkGroups(function)
	return c
}

// PatternSubscriptions returns the subscriptions for patterns, in the order of the catalogue file.
func (c *Catalogue) PatternSubscriptions() []PatternSubscription { return slices.Clone(c.patterns) }

// patternProblem says what is wrong with a subscription for patterns, or "".
func (c *Catalogue) patternProblem(s PatternSubscription) string {
	if problem := nameProblem(s.Name); problem != "" {
		return problem
	}
	if other, taken := c.declared[s.Name]; taken {
		return "it is declared for " + other.pattern + " already"
	}
	for _, group := range append(slices.Clone(s.GroupAliases), s.Group) {
		if problem := nameProblem(group); problem != "" && s.Group+group != "" {
			return fmt.Sprintf("group %q: %s", group, problem)
		}
	}
	for _, one := range s.Patterns {
		if _, err := glob.Parse(one); err != nil {
			return err.Error()
		}
	}
	matches := false
	for _, t := range c.types {
		if !s.Covers(t) {
			continue
		}
		matches = true
		if err := s.For(t).Validate(); err != nil {
			return fmt.Sprintf("its settings for %s: %v", t.Name(), err)
		}
	}
	if !matches {
		return "no event type of the catalogue matches " + s.pattern()
	}
	return ""
}
