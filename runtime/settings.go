package runtime

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/retry"
)

// Settings steer the deliveries of one event type, or of one subscription that
// the catalogue declares. Generated code has them from the catalogue, package
// tuning replaces them while a bus runs, and the options of a subscription
// override them.
type Settings struct {
	// Retry says how often and when a failed event is tried again.
	Retry retry.Policy
	// Timeout is how long one attempt may take.
	Timeout time.Duration
	// SlowAfter is how long an attempt may take before it is logged as slow,
	// once. 0 for never.
	SlowAfter time.Duration
	// ExpiresAfter is how long after its publication (its due time, if it was
	// delayed; its last retry by hand, if it was dead) an event may still be
	// tried. What is not handled by then is dead-lettered as expired, tried or
	// not; the context of a handler that is at work ends at that moment, with an
	// *[ExpiredError] as its cause. 0 for no limit.
	ExpiresAfter time.Duration
	// MaxSnoozes is how often a handler may put an event off ([Snooze]). The next
	// time it is dead-lettered, with reason max_snoozes. 0 for no limit.
	MaxSnoozes int
	// Breaker says when a subscription stops for a while because its handler
	// fails too often.
	Breaker breaker.Policy
	// FailureThrottle is how many failures in a row make a subscription run one handler
	// at a time, until one succeeds. 0 for never.
	FailureThrottle int
	// Errors say what kinds of errors mean; the first that matches decides.
	Errors []ErrorRule
	// Redrive says which dead letters are tried again by themselves.
	Redrive Redrive
}

// ErrorRule says what errors of one class mean.
type ErrorRule struct {
	// Class is a name that the program registers with [WithErrorClass]. A rule
	// whose class is not registered never matches; a bus that is started logs an
	// error for it.
	Class string
	// Permanent means that another attempt is in vain: the event is
	// dead-lettered at once.
	Permanent bool
	// Retry overrides fields of the policy for failures of this class.
	Retry []retry.Option
}

// Redrive says which dead letters are tried again by themselves, with a fresh
// count of attempts. The zero value means none.
type Redrive struct {
	// Reasons chooses by the reason of the dead letter (max_attempts,
	// permanent, decode, crash, expired, max_snoozes) or by how its last attempt failed
	// (error, panic, goexit, timeout, interrupted). Empty for all but those whose last
	// attempt ended the process, which need crash.
	Reasons []string
	// Every is how long after its death a dead letter is tried again.
	Every time.Duration
	// Max is how often that happens to one.
	Max int
}

// DefaultSettings returns the settings of an event type whose catalogue sets
// nothing: the default retry policy and breaker, 30 s for an attempt, a warning
// after 10 s, and 10,000 snoozes.
func DefaultSettings() Settings {
	return Settings{
		Retry: retry.Default(), Timeout: 30 * time.Second, SlowAfter: 10 * time.Second, MaxSnoozes: 10_000, Breaker: breaker.Default(),
	}
}

// Validate returns nil for settings that a bus can follow, and otherwise every
// problem in one error.
func (s Settings) Validate() error {
	problems := []error{s.Retry.Validate(), s.Breaker.Validate()}
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	require(s.Timeout > 0, "Timeout is %v: it must be positive", s.Timeout)
	require(s.SlowAfter >= 0, "SlowAfter is %v: it must not be negative", s.SlowAfter)
	require(s.ExpiresAfter >= 0, "ExpiresAfter is %v: it must not be negative", s.ExpiresAfter)
	require(s.MaxSnoozes >= 0, "MaxSnoozes is %d: it must not be negative", s.MaxSnoozes)
	require(s.FailureThrottle >= 0, "FailureThrottle is %d: it must not be negative", s.FailureThrottle)
	for _, rule := range s.Errors {
		require(rule.Class != "", "Errors has a rule without a Class")
		if err := s.Retry.With(rule.Retry...).Validate(); err != nil && s.Retry.Validate() == nil {
			problems = append(problems, fmt.Errorf("the retry policy of error class %s: %w", rule.Class, err))
		}
	}
	if r := s.Redrive; r.Max != 0 || r.Every != 0 || len(r.Reasons) > 0 {
		require(r.Every > 0 && r.Max > 0, "Redrive has Every %v and Max %d: both must be positive", r.Every, r.Max)
		for _, reason := range r.Reasons {
			require(slices.Contains(engine.Reasons(), reason) || slices.Contains(engine.Kinds(), reason),
				"Redrive has the reason %q: use %v or %v", reason, engine.Reasons(), engine.Kinds())
		}
	}
	return errors.Join(problems...)
}
