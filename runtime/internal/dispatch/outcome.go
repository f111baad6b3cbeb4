package dispatch

import (
	"fmt"
	"time"
)

// A handler steers by the error it returns, however deep it is wrapped. If there
// are several of these in one error, the outermost decides.
type steering interface {
	error
	steer()
}

// PermanentError says that another attempt is in vain.
type PermanentError struct{ Err error }

// RetryAfterError says when to try again.
type RetryAfterError struct {
	After time.Duration
	Err   error
}

// SnoozeError puts the event off. It does not count as an attempt.
type SnoozeError struct{ For time.Duration }

// DiscardError settles the event without its having been handled.
type DiscardError struct{ Reason string }

// AnsweredError settles the event for a handler whose answer is not needed any more, because
// others have answered. It says nothing about the handler, and in a group nothing about the other members.
type AnsweredError struct{ Reason string }

func (*PermanentError) steer()  {}
func (*RetryAfterError) steer() {}
func (*SnoozeError) steer()     {}
func (*DiscardError) steer()    {}
func (*AnsweredError) steer()   {}

// Steers tells whether a handler asks for something with the error that it returns.
func Steers(err error) bool {
	asked, _ := find[steering](err)
	return asked != nil
}

// Error is the text of the cause.
func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *PermanentError) Unwrap() error { return e.Err }

// Error is the text of the cause.
func (e *RetryAfterError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RetryAfterError) Unwrap() error { return e.Err }

// Error says for how long.
func (e *SnoozeError) Error() string { return fmt.Sprintf("put off for %v", e.For) }

// Error says why.
func (e *DiscardError) Error() string { return "discarded: " + e.Reason }

// Error says why.
func (e *AnsweredError) Error() string { return "discarded: " + e.Reason }
