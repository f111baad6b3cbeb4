package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/format"
	"github.com/busgen/busgen/runtime/internal/limit"
)

// Limit is a named limit that several subscriptions, and code outside of handlers, share.
// It says how many attempts may run at once, or how many may begin within a time, or both.
// The catalogue declares limits, and [WithLimit] adds one when a bus is opened. [Settings]
// and [WithLimits] say which deliveries need it; [Limiter] is for any code.
//
// A delivery that needs a limit which has no room waits for its turn: it does not count as
// an attempt, no timeout runs, it takes no place of its subscription, and later events of
// its partition key wait behind it. All others go on. Turns are first come, first served
// over all subscriptions of the bus; within a subscription, by priority.
//
// AtOnce holds within a bus: when its process ends, however it ends, all is free. Rate
// holds for everybody who uses the file, and survives restarts and kill -9. If processes
// have different numbers of a rate, all go by those of the one that last began to use it or was tuned.
type Limit struct {
	// Name is how the limit is used. It must not be empty.
	Name string
	// Doc is from the catalogue.
	Doc string
	// AtOnce is how many attempts may run at once, up to 1,000,000; 0 for no such limit.
	AtOnce int
	// Rate is how many attempts may begin within Per, up to 1,000,000; 0 for no such limit.
	// They are spread evenly, one every Per/Rate, after a first Burst.
	Rate int
	// Per is the time that Rate is for, from 1ms to 366 days. It is 0 without a Rate.
	Per time.Duration
	// Burst is how many attempts may begin at once after a pause, up to 1,000,000; 0 stands
	// for as many as Rate. In any time t at most Burst + Rate·t/Per begin. So a service that
	// refuses more than 100 calls in any minute needs a Rate of 99 per minute with a Burst of 1, or
	// of 50 with a Burst of 50.
	Burst int
	// Hold says for how long an attempt keeps its place of AtOnce. The default is
	// HoldAttempt. An attempt uses up one of Rate in either case.
	Hold LimitHold
	// Wait is how long a delivery waits for its turn, from when it would have begun without
	// the limit; 0 for as long as it takes. A pause of its subscription does not count.
	Wait time.Duration
	// Lax says what happens after Wait: with it the delivery begins without the limit, else
	// its attempt fails with a *[LimitTimeoutError]. It makes no difference without a Wait.
	Lax bool
}

// LimitHold says for how long something keeps its place in a [Limit].
type LimitHold int

const (
	// HoldAttempt keeps it for one attempt: until the handler returns, or is left behind because
	// it ignores the end of its context. It is the default.
	HoldAttempt LimitHold = iota
	// HoldEvent keeps it over all attempts of an event in a subscription, and while the event
	// waits for its next attempt: until it is handled, dead, discarded or cancelled. When the
	// process ends, or the subscription is ended or paused before the next attempt, it is free.
	HoldEvent
)

// String returns the word of the catalogue: attempt or event.
func (h LimitHold) String() string {
	switch h {
	case HoldAttempt:
		return "attempt"
	case HoldEvent:
		return "event"
	default:
		return fmt.Sprintf("LimitHold(%d)", int(h))
	}
}

// What limits may be.
const (
	maxLimit      = 1_000_000
	minLimitPer   = time.Millisecond
	maxLimitPer   = 366 * 24 * time.Hour
	maxLimitBurst = 10 * maxLimitPer // that long it may take until a whole burst is there again
)

// Validate returns nil for a limit that a bus can keep, and otherwise every problem in one
// error.
func (l Limit) Validate() error {
	var problems []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	if problem := limitNameProblem(l.Name); problem != "" {
		problems = append(problems, errors.New(problem))
	}
	require(l.AtOnce >= 0 && l.AtOnce <= maxLimit, "AtOnce is %d: it must be from 1 to %d, or 0 for no such limit", l.AtOnce, maxLimit)
	require(l.Rate >= 0 && l.Rate <= maxLimit, "Rate is %d: it must be from 1 to %d, or 0 for no such limit", l.Rate, maxLimit)
	require(l.AtOnce != 0 || l.Rate != 0, "neither AtOnce nor Rate is set: it limits nothing")
	require(l.Burst >= 0 && l.Burst <= maxLimit, "Burst is %d: it must be from 1 to %d, or 0 for as many as Rate", l.Burst, maxLimit)
	if l.Rate > 0 {
		require(l.Per >= minLimitPer && l.Per <= maxLimitPer, "Per is %v: with a Rate it must be from %v to 366 days", l.Per, minLimitPer)
		if l.Burst > 0 && l.Per > 0 {
			require(float64(l.Burst)*float64(l.Per)/float64(l.Rate) <= float64(maxLimitBurst),
				"Burst is %d: with a Rate of %d per %v it takes more than ten years until it is there again", l.Burst, l.Rate, l.Per)
		}
	} else {
		require(l.Per == 0, "Per is %v without a Rate: say how many per %v", l.Per, l.Per)
		require(l.Burst == 0, "Burst is %d without a Rate: say how many per which time", l.Burst)
	}
	require(l.Hold == HoldAttempt || l.Hold == HoldEvent, "Hold is %v: use HoldAttempt or HoldEvent", l.Hold)
	require(l.Hold != HoldEvent || l.AtOnce > 0, "Hold is event without AtOnce: an attempt uses a rate up, and keeps nothing of it")
	require(l.Wait >= 0, "Wait is %v: it must not be negative", l.Wait)
	return errors.Join(problems...)
}

// burst returns how many may begin at once.
func (l Limit) burst() int {
	if l.Burst == 0 {
		return l.Rate
	}
	return l.Burst
}

// rules returns what package limit has to know.
func (l Limit) rules() limit.Rules {
	return limit.Rules{
		Name: l.Name, AtOnce: l.AtOnce, Rate: l.Rate, Per: l.Per, Burst: l.burst(), Event: l.Hold == HoldEvent, Wait: l.Wait, Lax: l.Lax,
	}
}

func limitNameProblem(name string) string {
	switch {
	case strings.TrimSpace(name) != name || name == "":
		return "a limit needs a name without spaces around it"
	case len(name) > format.MaxSubscriptionName:
		return fmt.Sprintf("the name has %d bytes, the maximum is %d", len(name), format.MaxSubscriptionName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "the name has bytes that cannot be printed"
	}
	return ""
}

// LimitUse says that deliveries need a [Limit].
type LimitUse struct {
	// Limit is its name.
	Limit string
	// By is the path of a field of the payload, such as customer_id: each value of it has a
	// limit of its own. The path is one that generated code knows ([Spec].LimitKeys). Empty
	// for one limit for all. An empty value of the field is this one, too.
	By string
}

// usesProblem says what is wrong with uses whatever limits there are, or "".
func usesProblem(uses []LimitUse) string {
	seen := map[string]bool{}
	for _, use := range uses {
		if problem := limitNameProblem(use.Limit); problem != "" {
			return fmt.Sprintf("the limit %q: %s", use.Limit, problem)
		}
		if seen[use.Limit] {
			return fmt.Sprintf("the limit %q is there twice: a delivery needs it once", use.Limit)
		}
		seen[use.Limit] = true
	}
	return ""
}

// UnknownLimitError says that there is no [Limit] of a name: neither in the catalogue nor
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
func unknownLimit(name string, limits map[string]Limit) *UnknownLimitError {
	names := make([]string, 0, len(limits))
	for known := range limits {
		names = append(names, known)
	}
	slices.Sort(names)
	return &UnknownLimitError{Limit: name, Closest: diag.Closest(name, names)}
}

// WithLimits adds limits to a catalogue, and returns it. It panics if one is not valid or
// a name is there twice. Generated code calls it before anything else uses the catalogue.
func (c *Catalogue) WithLimits(limits ...Limit) *Catalogue {
	for _, l := range limits {
		if err := l.Validate(); err != nil {
			panic(fmt.Sprintf("runtime.Catalogue.WithLimits: limit %q: %v", l.Name, err))
		}
		if slices.ContainsFunc(c.limits, func(other Limit) bool { return other.Name == l.Name }) {
			panic(fmt.Sprintf("runtime.Catalogue.WithLimits: two limits are named %q", l.Name))
		}
		c.limits = append(c.limits, l)
	}
	return c
}

// Limits returns the limits, in the order of the catalogue file.
func (c *Catalogue) Limits() []Limit { return slices.Clone(c.limits) }

// limitsWith returns the limits by name, with others that replace those of their names.
func (c *Catalogue) limitsWith(others map[string]Limit) map[string]Limit {
	limits := make(map[string]Limit, len(c.limits)+len(others))
	for _, l := range c.limits {
		limits[l.Name] = l
	}
	maps.Copy(limits, others)
	return limits
}

// checkLimits returns an error if the catalogue uses a limit that is not one of these, or
// by a path that is not known.
func (c *Catalogue) checkLimits(limits map[string]Limit) error {
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
func checkUses(t AnyEventType, uses []LimitUse, limits map[string]Limit) error {
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
func (s *innerSubscription) limitsProblem(t AnyEventType, uses []LimitUse) string {
	if err := checkUses(t, uses, s.bus.limitsByName); err != nil {
		return err.Error()
	}
	for _, use := range uses {
		switch {
		case s.dead && use.By != "":
			return fmt.Sprintf("limit %q by %s: the payload of a dead-letter notice is not that of the event; leave By out", use.Limit, use.By)
		case s.batched == nil:
		case use.By != "":
			return fmt.Sprintf("limit %q by %s: a batch has events of several values; leave By out, or use Subscribe", use.Limit, use.By)
		case s.bus.limitsByName[use.Limit].Hold == HoldEvent:
			return fmt.Sprintf("limit %q is held until an event is settled, and a batch has many; use a limit with HoldAttempt, or Subscribe", use.Limit)
		}
	}
	return ""
}

// WithLimit adds a limit to those of the catalogue, or replaces the one of its name. The
// last of several of a name holds.
func WithLimit(l Limit) Option {
	return func(c *config) error {
		if err := l.Validate(); err != nil {
			return fmt.Errorf("WithLimit(%q): %w", l.Name, err)
		}
		if c.limits == nil {
			c.limits = map[string]Limit{}
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
// through. A batch needs each limit once, and uses up one of a rate: a By, and a limit with
// HoldEvent, are refused there.
func WithLimits(uses ...LimitUse) SubscribeOption {
	return func(c *subscribeConfig) error {
		if problem := usesProblem(uses); problem != "" {
			return fmt.Errorf("WithLimits: %s", problem)
		}
		c.own.Limits = append([]LimitUse{}, uses...)
		return nil
	}
}
