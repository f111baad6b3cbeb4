package catalog

import (
	"strings"

	"github.com/busgen/busgen/internal/glob"
)

// PatternSubscription is an entry of `subscriptions:` at the top level. Its Settings are only those that are written
// there: see [PatternSubscription.For]. Its Go code is in the root's package, because its events can be in all.
type PatternSubscription struct {
	Subscription
	Patterns []Value[glob.Pattern] // of names on the wire, at least one, in file order
	Events   []*Event              // that one of the patterns matches, in the order of the catalogue
}

// Pattern returns the patterns as the file of a bus has them, with blanks between them.
func (s *PatternSubscription) Pattern() string { return strings.Join(s.Texts(), " ") }

// Texts lists the patterns.
func (s *PatternSubscription) Texts() []string {
	var all []string
	for _, p := range s.Patterns {
		all = append(all, p.V.String())
	}
	return all
}

// For returns the settings in force for one of the Events: those of the event, where the subscription has none of
// its own. A redrive counts as a whole, with what is built in for what it does not say.
func (s *PatternSubscription) For(e *Event) Settings {
	in := e.Settings.With(s.Settings)
	if s.Settings.Redrive.Off.Written() {
		in.Redrive = BuiltinRedrive().With(s.Settings.Redrive)
	}
	return in
}

// FunctionName returns the Go name of the function that subscribes.
func (s *PatternSubscription) FunctionName() string {
	return "Subscribe" + strings.TrimPrefix(s.GoName, "On")
}

// Covers tells whether one of the patterns matches an event by its name on the wire, or by one that it had before.
func (s *PatternSubscription) Covers(e *Event) bool {
	for _, p := range s.Patterns {
		if p.V.Match(e.Name.V) {
			return true
		}
		for _, alias := range e.Aliases {
			if p.V.Match(alias.V) {
				return true
			}
		}
	}
	return false
}

// FindEvents sets Events, and makes s one of the Patterns of each.
func (s *PatternSubscription) FindEvents(events []*Event) {
	for _, e := range events {
		if s.Covers(e) {
			s.Events = append(s.Events, e)
			e.Patterns = append(e.Patterns, s)
		}
	}
}

// Declared lists the subscriptions of an event: its own, and then those at the top level that are for it, with the
// settings in force for the event.
func (e *Event) Declared() []*Subscription {
	all := e.Subscriptions[:len(e.Subscriptions):len(e.Subscriptions)]
	for _, s := range e.Patterns {
		one := s.Subscription
		one.Settings = s.For(e)
		all = append(all, &one)
	}
	return all
}
