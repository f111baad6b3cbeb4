package declare

import (
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/glob"
)

// Subscription is a durable name that the catalogue declares, with the
// settings that apply unless the call that subscribes overrides them.
type Subscription struct {
	Name     string
	Settings Settings
	Aliases  []string // names it had before
	// Group is the name of the group whose member it is, as with runtime.InGroup; empty for a
	// subscription by itself. The group exists from runtime.Open on, and Subscribe needs no option.
	// Its members handle an event in the order of the catalogue, and runtime.Bus.Start refuses a
	// group of which only some members are subscribed, with a *runtime.GroupError.
	Group string
	// GroupAliases are names that the group had before. One member is enough to have them.
	GroupAliases []string
}

// PatternSubscription is a durable name that the catalogue declares for all event types that match a pattern. It
// exists from runtime.Open on. runtime.SubscribeNamespace and runtime.SubscribePattern give it a handler.
type PatternSubscription struct {
	Name     string
	Patterns []string // of event types, as those of runtime.SubscribePattern; at least one
	Own      Override // over the settings of each event type, unless the call that subscribes overrides them
	Aliases  []string // names it had before
	// Group and GroupAliases are as those of [Subscription]. The member comes after those that event types
	// declare.
	Group        string
	GroupAliases []string
}

// Covers reports whether a pattern matches the name of an event type, or one that it had before.
func (s PatternSubscription) Covers(t interface {
	Name() string
	Aliases() []string
}) bool {
	set, err := glob.ParseSet(strings.Join(s.Patterns, " "))
	return err == nil && slices.ContainsFunc(append(t.Aliases(), t.Name()), set.Match)
}

// For returns the settings of the subscription for an event type that it matches.
func (s PatternSubscription) For(t interface{ Settings() Settings }) Settings {
	return t.Settings().With(s.Own)
}
