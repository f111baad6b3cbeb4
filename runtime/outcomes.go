package runtime

import (
	"errors"
	"fmt"
	"time"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/retry"
)

// Permanent says that another attempt is in vain: the event is dead-lettered at
// once, with reason permanent. It returns nil if err is nil. The text is that of
// err, and [errors.Is] and [errors.As] find it.
//
// A handler returns it, as it is or wrapped. The same holds for [RetryAfter],
// [Snooze] and [Discard]; if an error wraps several of them, the outermost
// decides.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &dispatch.PermanentError{Err: err}
}

// RetryAfter says when to try again, instead of the delay of the retry policy.
// The attempt is charged, and the event is dead-lettered if it was the last. d
// is used as it is, without jitter, and is at most 30 days. It returns nil if err
// is nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &dispatch.RetryAfterError{After: d, Err: err}
}

// Snooze puts the event off, which does not count as a failed attempt: it is
// delivered again after d, at most 30 days. The circuit breaker takes no
// notice. What ends a handler that snoozes for ever is MaxSnoozes, 10,000 times
// unless the catalogue or [WithMaxSnoozes] says otherwise, and ExpiresAfter, if the
// event type has it: the event is dead-lettered then. In a group the snoozes of all
// members count together.
func Snooze(d time.Duration) error { return &dispatch.SnoozeError{For: d} }

// Discard settles the event for this subscription without its having been
// handled: it is not tried again and no dead letter. The reason is kept as long
// as the event, and what the handler has published with its context is not
// stored. In a group it is the last word for all members.
func Discard(reason string) error { return &dispatch.DiscardError{Reason: reason} }

// ErrorIs returns a function that tells whether an error is target, as
// [errors.Is] does.
func ErrorIs(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// ErrorAs returns a function that tells whether an error is an E, as
// [errors.As] does.
func ErrorAs[E error]() func(error) bool {
	return func(err error) bool {
		var target E
		return errors.As(err, &target)
	}
}

// WithErrorClass gives a name to the errors that match, so that the catalogue
// can say what they mean: the names under errors. The function is called with
// what a handler has returned, from any goroutine; if it panics the error does
// not match. [ErrorIs] and [ErrorAs] make such functions.
func WithErrorClass(name string, match func(error) bool) Option {
	return func(c *config) error {
		if name == "" || match == nil {
			return fmt.Errorf("WithErrorClass(%q): it needs a name and a function", name)
		}
		if c.classes[name] != nil {
			return fmt.Errorf("WithErrorClass(%q): the name was registered before", name)
		}
		if c.classes == nil {
			c.classes = map[string]func(error) bool{}
		}
		c.classes[name] = match
		return nil
	}
}

// WithPermanentErrors makes errors that match dead-letter their event at once,
// in this subscription. It comes before what the catalogue says about errors.
func WithPermanentErrors(match func(error) bool) SubscribeOption {
	return withErrorRule(errorRule{match: match, permanent: true})
}

// WithErrorRetry gives errors that match a retry policy of their own in this
// subscription: its policy with these overrides. It comes before what the
// catalogue says about errors.
func WithErrorRetry(match func(error) bool, overrides ...retry.Option) SubscribeOption {
	return withErrorRule(errorRule{match: match, retry: overrides})
}

// errorRule is an [ErrorRule] with a function instead of a name.
type errorRule struct {
	match     func(error) bool
	permanent bool
	retry     []retry.Option
}

func withErrorRule(rule errorRule) SubscribeOption {
	return func(c *subscribeConfig) error {
		if rule.match == nil {
			return errors.New("the function that matches errors is nil")
		}
		c.rules = append(c.rules, rule)
		return nil
	}
}
