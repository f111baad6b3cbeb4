package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrOver is returned to a handler that publishes after its attempt was
// decided: it has timed out, or it has returned and left a goroutine behind.
var ErrOver = errors.New("this attempt is over: events published through its context are not stored")

// ErrEntered is returned by [Attempt.Enter] if the handler was called before.
var ErrEntered = errors.New("the handler was called before in this attempt")

// TimeoutError is the failure of an attempt that outlived its deadline, and
// the cause with which its context is cancelled.
type TimeoutError struct {
	After   time.Duration // the timeout
	Attempt int           // which attempt it was, 1 for the first
}

// Error says how long the handler had.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the handler did not finish within %v", e.After)
}

// Is makes the error match [context.DeadlineExceeded].
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// ExpiredError is the failure of an attempt whose event has expired meanwhile, and
// the cause with which its context is cancelled.
type ExpiredError struct{ After time.Duration }

// Error says how long the event had.
func (e *ExpiredError) Error() string {
	return fmt.Sprintf("the event has expired: it was not handled within %v", e.After)
}

// Is makes the error match [context.DeadlineExceeded].
func (e *ExpiredError) Is(target error) bool { return target == context.DeadlineExceeded }

// InterruptedError is the failure of an attempt whose handler a shutdown did not
// wait for any longer.
type InterruptedError struct{ Ignored time.Duration }

// Error says what the handler has ignored.
func (e *InterruptedError) Error() string {
	return fmt.Sprintf("the handler did not return within %v after a shutdown had cancelled its context", e.Ignored)
}

// Is makes the error match [ErrShutdown].
func (e *InterruptedError) Is(target error) bool { return target == ErrShutdown }
