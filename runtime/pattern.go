package runtime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/declare"
)

// patternOf returns the patterns with blanks between them.
func patternOf(s declare.PatternSubscription) string { return strings.Join(s.Patterns, " ") }

// WithSubscriptions adds subscriptions for patterns to a catalogue, and returns it. It panics if one is not valid, if
// it matches no event type, or if its name is there already. Generated code calls it before anything else uses the
// catalogue.
func (c *Catalogue) WithSubscriptions(subscriptions ...declare.PatternSubscription) *Catalogue {
	const function = "runtime.Catalogue.WithSubscriptions"
	for _, s := range subscriptions {
		if problem := c.patternProblem(s); problem != "" {
			panic(fmt.Sprintf("%s: subscription %q: %s", function, s.Name, problem))
		}
		d := declare.Subscription{Name: s.Name, Aliases: s.Aliases, Group: s.Group, GroupAliases: s.GroupAliases}
		c.declared[s.Name] = declared{Subscription: d, pattern: patternOf(s), byPattern: true, own: s.Own}
		c.addToGroup(d, s.Patterns...)
		c.patterns = append(c.patterns, s)
	}
	c.checkGroups(function)
	return c
}

// PatternSubscriptions returns the subscriptions for patterns, in the order of the catalogue file.
func (c *Catalogue) PatternSubscriptions() []declare.PatternSubscription {
	return slices.Clone(c.patterns)
}

// patternProblem says what is wrong with a subscription for patterns, or "".
func (c *Catalogue) patternProblem(s declare.PatternSubscription) string {
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
		return "no event type of the catalogue matches " + patternOf(s)
	}
	return ""
}
