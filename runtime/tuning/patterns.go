package tuning

import (
	"reflect"
	"slices"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// patterns compares the subscriptions for patterns of the program with those of the file.
func (c *comparison) patterns(built *runtime.Catalogue, file *catalog.Catalogue) {
	inFile := map[string]*catalog.PatternSubscription{}
	for _, s := range file.Subscriptions {
		inFile[s.Name.V] = s
	}
	for _, s := range built.PatternSubscriptions() {
		for _, t := range typesOf(built, s) {
			c.learn(s.For(t))
		}
		other := inFile[s.Name]
		delete(inFile, s.Name)
		switch {
		case other == nil:
			c.needsBuild(diag.Position{}, "subscription %s is no longer declared", s.Name)
			continue
		case !slices.Equal(other.Texts(), s.Patterns):
			c.needsBuild(other.Name.Pos, "subscription %s is for %s, and for %v in the program", s.Name, other.Pattern(), s.Patterns)
			continue
		}
		if group := groupOf(&other.Subscription); group != s.Group {
			c.needsBuild(other.Name.Pos, "subscription %s %s, and %s in the program", s.Name, inGroup(group), inGroup(s.Group))
		}
		c.pattern(built, s, other)
	}
	for _, s := range file.Subscriptions {
		if inFile[s.Name.V] != nil {
			c.needsBuild(s.Name.Pos, "subscription %s is newly declared", s.Name.V)
		}
	}
}

// pattern tunes a subscription for patterns by the file. Its limits stay those of the program if an event type of that
// has no code for them.
func (c *comparison) pattern(built *runtime.Catalogue, s declare.PatternSubscription, inFile *catalog.PatternSubscription) {
	own, types := overrideOf(inFile.Settings), typesOf(built, s)
	for _, t := range types {
		what, keys := "subscription "+s.Name+" for "+t.Name(), keysOf(built, t)
		limits, breaker := c.knowsLimits(what, inFile.Settings.Limits.V, keys), c.knowsBreaker(what, inFile.Settings.Breaker, keys)
		if !limits {
			own.Limits = s.Own.Limits
		}
		if !breaker {
			own.Breaker = s.Own.Breaker
		}
		if !limits || !breaker {
			break
		}
	}
	c.tuning.Patterns[s.Name] = own
	for _, t := range types {
		if !reflect.DeepEqual(s.For(t), t.Settings().With(own)) {
			c.report.Tuned = append(c.report.Tuned, s.Name)
			return
		}
	}
}

// typesOf lists the event types of the program that a subscription is for.
func typesOf(c *runtime.Catalogue, s declare.PatternSubscription) []runtime.AnyEventType {
	return slices.DeleteFunc(c.Types(), func(t runtime.AnyEventType) bool { return !s.Covers(t) })
}
