package runtime

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
)

// Permanent says that another attempt is in vain: the event is dead-lettered at
// once, with reason permanent. It returns nil if err is nil. The text is that of
// err, and [errors.Is] and [errors.As] find it.
//
// A handler returns it, as it is or wrapped. The same holds for [RetryAfter],
// [Snooze] and [Discard]; if an error wraps several of them, the outermost
// decides. What the handler of another event has said does not count: see [HandlerError].
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &errs.PermanentError{Err: err}
}

// RetryAfter says when to try again, instead of the delay of the retry policy. See [Snooze] for what is no failure:
// RetryAfter counts as an attempt, and the event is dead-lettered if that was the last. d
// is used as it is, without jitter, and is at most 30 days. It returns nil if err
// is nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &errs.RetryAfterError{After: d, Err: err}
}

// Snooze puts the event off, which does not count as a failed attempt: it is
// delivered again after d, at least 100 ms and at most 30 days. The circuit breaker takes
// no notice. What ends a handler that snoozes for ever is MaxSnoozes, 10,000 times
// unless the catalogue or [WithMaxSnoozes] says otherwise, and ExpiresAfter, if the
// event type has it: the event is dead-lettered then. In a group the snoozes of all
// members count together.
func Snooze(d time.Duration) error { return &errs.SnoozeError{For: d} }

// Discard settles the event for this subscription without its having been
// handled: it is not tried again and no dead letter. The reason is kept as long
// as the event, and what the handler has published with its context is not
// stored. In a group it is the last word for all members. The reason "cancelled" is that of
// [Bus.Cancel], so it is kept as "cancelled by its handler".
func Discard(reason string) error { return &errs.DiscardError{Reason: reason} }

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
// not match. [ErrorIs] and [ErrorAs] make such functions. If a [HandlerError] is in it, what that wraps
// is left out, and the function is given an error of another type that wraps the rest: ask
// with [errors.Is] and [errors.As].
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

// reportClasses logs each class of errors that has a rule in the settings in force and is
// not registered, once. That is no reason to refuse: a program that only publishes cannot
// know these errors. The caller holds mu.
func (b *innerBus) reportClasses() {
	if b.state != running {
		return // when it is started
	}
	missing := map[string]map[string]bool{} // the subscriptions, by class
	for _, s := range b.subscriptions {
		for _, settings := range s.inForce.Load().types {
			for _, rule := range settings.Errors {
				if b.config.classes[rule.Class] != nil || b.missing[rule.Class] {
					continue
				}
				if missing[rule.Class] == nil {
					missing[rule.Class] = map[string]bool{}
				}
				missing[rule.Class][s.name] = true
			}
		}
	}
	for _, class := range slices.Sorted(maps.Keys(missing)) {
		if b.missing == nil {
			b.missing = map[string]bool{}
		}
		b.missing[class] = true
		b.config.logger.Error("the catalogue has a rule for a class of errors that is not registered with WithErrorClass; it never matches",
			"class", class, "subscriptions", slices.Sorted(maps.Keys(missing[class])))
	}
}
