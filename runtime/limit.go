package runtime

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/runtime/declare"
)

// UnknownLimitError says that there is no [declare.Limit] of a name: neither in the catalogue nor
// from [WithLimit].
type UnknownLimitError struct {
	Limit   string
	Closest string // the limit that may have been meant; empty for none
}

// Error names the limit, and what may have been meant.
func (e *UnknownLimitError) Error() string {
	if e.Closest != "" {
		return fmt.Sprintf("there is no limit %q; did you mean %q?", e.Limit, e.Closest)
	}
	return fmt.Sprintf("there is no limit %q: declare it in the catalogue, or open the bus with WithLimit", e.Limit)
}

// unknownLimit returns the error for a name that is not among those of the limits.
func unknownLimit(name string, limits map[string]declare.Limit) *UnknownLimitError {
	names := make([]string, 0, len(limits))
	for known := range limits {
		names = append(names, known)
	}
	slices.Sort(names)
	return &UnknownLimitError{Limit: name, Closest: diag.Closest(name, names)}
}

// WithLimits adds limits to a catalogue, and returns it. It panics if one is not valid or
// a name is there twice. Generated code calls it before anything else uses the catalogue.
func (c *Catalogue) WithLimits(limits ...declare.Limit) *Catalogue {
	for _, l := range limits {
		if err := l.Validate(); err != nil {
			panic(fmt.Sprintf("runtime.Catalogue.WithLimits: limit %q: %v", l.Name, err))
		}
		if slices.ContainsFunc(c.limits, func(other declare.Limit) bool { return other.Name == l.Name }) {
			panic(fmt.Sprintf("runtime.Catalogue.WithLimits: two limits are named %q", l.Name))
		}
		c.limits = append(c.limits, l)
	}
	return c
}

// Limits returns the limits, in the order of the catalogue file.
func (c *Catalogue) Limits() []declare.Limit { return slices.Clone(c.limits) }

// limitsWith returns the limits by name, with others that replace those of their names.
func (c *Catalogue) limitsWith(others map[string]declare.Limit) map[string]declare.Limit {
	limits := make(map[string]declare.Limit, len(c.limits)+len(others))
	for _, l := range c.limits {
		limits[l.Name] = l
	}
	maps.Copy(limits, others)
	return limits
}

// checkLimits returns an error if the catalogue uses a limit that is not one of these, or
// by a path that is not known.
func (c *Catalogue) checkLimits(limits map[string]declare.Limit) error {
	for _, t := range c.types {
		if err := checkUses(t, t.Settings().Limits, limits); err != nil {
			return fmt.Errorf("event type %s: %w", t.Name(), err)
		}
		for _, s := range t.Subscriptions() {
			if err := checkUses(t, s.Settings.Limits, limits); err != nil {
				return fmt.Errorf("subscription %q: %w", s.Name, err)
			}
		}
		for _, s := range c.patterns {
			if !s.Covers(t) {
				continue
			}
			if err := checkUses(t, s.For(t).Limits, limits); err != nil {
				return fmt.Errorf("subscription %q: %w", s.Name, err)
			}
		}
	}
	return nil
}

// checkUses returns an error if deliveries of an event type cannot use limits in this way.
func checkUses(t AnyEventType, uses []declare.LimitUse, limits map[string]declare.Limit) error {
	for _, use := range uses {
		if _, known := limits[use.Limit]; !known {
			return unknownLimit(use.Limit, limits)
		}
		if problem := pathProblem(t, use.By); problem != "" {
			return fmt.Errorf("limit %q by %s: %s; name the path in the limits of the catalogue, so that busgen generates it", use.Limit, use.By, problem)
		}
	}
	return nil
}

// pathProblem says that an event type has no function for a path by which limits or breakers are kept apart, or "".
func pathProblem(t AnyEventType, path string) string {
	paths := typeOf(t).limitPaths()
	if path == "" || slices.Contains(paths, path) {
		return ""
	}
	return fmt.Sprintf("%s has no function for this path (it has %s)", t.Name(), cmp.Or(strings.Join(paths, ", "), "none"))
}

// limitsProblem says why deliveries of an event type cannot have these settings, or "".
func (s *innerSubscription) limitsProblem(t AnyEventType, uses []declare.LimitUse) string {
	if err := checkUses(t, uses, s.bus.limits.declared); err != nil {
		return err.Error()
	}
	for _, use := range uses {
		switch {
		case s.dead && use.By != "":
			return fmt.Sprintf("limit %q by %s: the payload of a dead-letter notice is not that of the event; leave By out", use.Limit, use.By)
		case s.batched == nil:
		case use.By != "":
			return fmt.Sprintf("limit %q by %s: a batch has events of several values; leave By out, or use Subscribe", use.Limit, use.By)
		}
	}
	return ""
}

// WithLimit adds a limit to those of the catalogue, or replaces the one of its name. The
// last of several of a name holds.
func WithLimit(l declare.Limit) Option {
	return func(c *config) error {
		if err := l.Validate(); err != nil {
			return fmt.Errorf("WithLimit(%q): %w", l.Name, err)
		}
		if c.limits == nil {
			c.limits = map[string]declare.Limit{}
		}
		c.limits[l.Name] = l
		return nil
	}
}

// WithLimits says which limits the deliveries of this subscription need, instead of what
// the catalogue says for the event type or the declared subscription; without uses it needs
// none. A limit that the bus does not have, a By that the event type has no function for,
// and the same limit twice are refused with a *[SubscribeError].
//
// A delivery that needs several begins when all of them have room. In a group the members'
// limits together are needed before the first member begins, and kept until the last is
// through. A batch needs each limit once, and uses up one of a rate: a By is refused there.
func WithLimits(uses ...declare.LimitUse) SubscribeOption {
	return func(c *subscribeConfig) error {
		if err := declare.ValidateUses(uses); err != nil {
			return fmt.Errorf("WithLimits: %w", err)
		}
		c.own.Limits = append([]declare.LimitUse{}, uses...)
		return nil
	}
}
