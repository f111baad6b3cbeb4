package tuning

import (
	"reflect"
	"slices"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/runtime"
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
func (c *comparison) pattern(built *runtime.Catalogue, s runtime.PatternSubscription, inFile *catalog.PatternSubscription) {
	override := overrideOf(inFile)
	types := typesOf(built, s)
	for _, t := range types {
		if c.knowsLimits("subscription "+s.Name+" for "+t.Name(), inFile.Settings.Limits.V, keysOf(built, t)) {
			continue
		}
		wanted := override
		override = func(settings *runtime.Settings) {
			own := *settings
			if s.Override != nil {
				s.Override(&own)
			}
			wanted(settings)
			settings.Limits = own.Limits
		}
		break
	}
	c.tuning.Patterns[s.Name] = override
	for _, t := range types {
		if before, after := s.For(t), t.Settings(); !reflect.DeepEqual(before, overridden(after, override)) {
			c.report.Tuned = append(c.report.Tuned, s.Name)
			return
		}
	}
}

// typesOf lists the event types of the program that a subscription is for.
func typesOf(c *runtime.Catalogue, s runtime.PatternSubscription) []runtime.AnyEventType {
	return slices.DeleteFunc(c.Types(), func(t runtime.AnyEventType) bool { return !s.Covers(t) })
}

func overridden(s runtime.Settings, override func(*runtime.Settings)) runtime.Settings {
	if override != nil {
		override(&s)
	}
	return s
}

// overrideOf returns what the file says of a subscription, as generated code does it.
func overrideOf(inFile *catalog.PatternSubscription) func(*runtime.Settings) {
	return func(s *runtime.Settings) {
		own := inFile.Settings
		replace := settingsOf(own) // of which only what is written counts
		s.Retry = s.Retry.With(own.Retry.Options()...)
		set(&s.Timeout, own.Timeout, replace.Timeout)
		set(&s.SlowAfter, own.SlowAfter, replace.SlowAfter)
		set(&s.SlowEventAfter, own.SlowEventAfter, replace.SlowEventAfter)
		set(&s.ExpiresAfter, own.ExpiresAfter, replace.ExpiresAfter)
		set(&s.MaxSnoozes, own.MaxSnoozes, replace.MaxSnoozes)
		set(&s.Breaker.Off, own.Breaker.Off, replace.Breaker.Off)
		set(&s.Breaker.Threshold, own.Breaker.Threshold, replace.Breaker.Threshold)
		set(&s.Breaker.MinSamples, own.Breaker.MinSamples, replace.Breaker.MinSamples)
		set(&s.Breaker.Window, own.Breaker.Window, replace.Breaker.Window)
		set(&s.Breaker.OpenFor, own.Breaker.OpenFor, replace.Breaker.OpenFor)
		set(&s.FailureThrottle, own.FailureThrottle, replace.FailureThrottle)
		set(&s.Concurrency, own.Concurrency, own.Concurrency.V)
		set(&s.StrictOrder, own.StrictOrder, replace.StrictOrder)
		set(&s.Limits, own.Limits, replace.Limits)
		if replace.Errors != nil {
			s.OverrideErrors(replace.Errors...)
		}
		if own.Redrive.Off.Written() {
			s.Redrive = redriveOf(catalog.BuiltinRedrive().With(own.Redrive))
		}
	}
}

// set replaces a setting by value if it is written.
func set[T, V any](to *T, written catalog.Value[V], value T) {
	if written.Written() {
		*to = value
	}
}
