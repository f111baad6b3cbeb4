// Package errs has the errors that end attempts, those with which handlers steer their bus, and what the dispatcher asks
// of an error of the program: its text, its type, its code, and whether a rule matches it. Methods of such errors may
// panic. Read errors.go, usercode.go and handler_error.go.
package errs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cmp"

	"github.com/google/uuid"
)

// ErrOver is returned to a handler that publishes after its attempt was
// decided: it has timed out, or it has returned and left a goroutine behind.
var ErrOver = errors.New("this attempt is over: events published through its context are not stored")

// ErrEntered is returned by [dispatch.Attempt.Enter] if the handler was called before.
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

// ErrShutdown is the cause with which the contexts of running handlers are
// cancelled when the bus stops waiting for them.
var ErrShutdown = errors.New("the bus is shutting down")

// DecodeError says that the handler could not be called, because the payload does
// not fit the type it is handled as, or because code of the program that was called
// before the handler has panicked.
type DecodeError struct {
	Err   error
	Stack string // of a panic
}

// Error says what did not fit.
func (e *DecodeError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// ErrBatchWait is returned to a batch handler that waits for another event.
var ErrBatchWait = errors.New("a batch handler cannot wait for an event: its place and the keys of its events cannot be lent; " +
	"publish with the context and let another subscription go on")

// BatchError names the events of a batch that have failed.
type BatchError struct {
	// Items has the error of each that has failed, by its index in the batch, from 0. A nil
	// error says that the event has not failed.
	Items map[int]error
}

// Set notes what the handler has got for an item. Nil errors are not kept.
func (e *BatchError) Set(i int, err error) {
	if err == nil {
		return
	}
	if e.Items == nil {
		e.Items = map[int]error{}
	}
	e.Items[i] = err
}

// Err returns e, or nil if no item has failed.
func (e *BatchError) Err() error {
	if len(e.failed()) == 0 {
		return nil
	}
	return e
}

// failed returns the indexes of the items that have failed, in order.
func (e *BatchError) failed() (indexes []int) {
	for i, err := range e.Items {
		if err != nil {
			indexes = append(indexes, i)
		}
	}
	slices.Sort(indexes)
	return indexes
}

// Error says which items have failed, and how the first few have.
func (e *BatchError) Error() string {
	const shown = 5
	indexes := e.failed()
	var text strings.Builder
	fmt.Fprintf(&text, "%d events of the batch have failed", len(indexes))
	for at, i := range indexes {
		if at == shown {
			fmt.Fprintf(&text, "; and %d more", len(indexes)-shown)
			break
		}
		words, _ := TextOf(e.Items[i])
		fmt.Fprintf(&text, "; item %d: %s", i, words)
	}
	return text.String()
}

// Unwrap returns the errors of the items, in their order.
func (e *BatchError) Unwrap() (all []error) {
	for _, i := range e.failed() {
		all = append(all, e.Items[i])
	}
	return all
}

// A handler steers by the error it returns, however deep it is wrapped. If there
// are several of these in one error, the outermost decides.
type Steering interface {
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
	asked, _ := Find[Steering](err)
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

// HopLimitError says that a handler's publish was refused, because the event would be
// further from its root than the bus allows. An attempt that fails with it is permanent.
type HopLimitError struct {
	EventType  string    // what was to be published
	Parent     uuid.UUID // the event whose handler has called Publish
	ParentType string
	Hops       int // what the event would have had
	Limit      int
}

func (*HopLimitError) steer() {}

// Error names both types, and says what to do.
func (e *HopLimitError) Error() string {
	return fmt.Sprintf("%s was not published: event %s of type %s is %d hops from the event that everything began with, and the limit is %d: "+
		"handlers publish events whose handlers publish events; stop one of them, or raise the limit (WithHopLimit) if that is meant",
		e.EventType, e.Parent, e.ParentType, e.Hops-1, e.Limit)
}

// StepError ends a delivery because of its steps, which no other attempt would change. The handler does not matter any
// more: the attempt has failed with it.
type StepError struct {
	Reason string // of the dead letter
	Err    error
}

// Error says what is wrong.
func (e *StepError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *StepError) Unwrap() error { return e.Err }

func (*StepError) steer() {}

// NameError says that a step has no good name.
type NameError struct {
	Name    string
	Problem string
}

// Error names the step.
func (e *NameError) Error() string { return fmt.Sprintf("step %q: %s", e.Name, e.Problem) }

// RollbackError gives the delivery up: its steps are undone.
type RollbackError struct{ Err error }

// Error is the text of the cause.
func (e *RollbackError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RollbackError) Unwrap() error { return e.Err }

func (*RollbackError) steer() {}

// UncommittedError says that a transaction could not be stored, which is not the handler's
// failure. The delivery is tried again, and the attempt does not count.
type UncommittedError struct {
	Err  error
	What string // could not be stored; empty for the transaction
}

// Error says why.
func (e *UncommittedError) Error() string {
	return cmp.Or(e.What, "the transaction of the handler could not be stored") + ": " + e.Err.Error()
}

// Unwrap returns why.
func (e *UncommittedError) Unwrap() error { return e.Err }

// WaitCycleError is returned to a handler that would wait for an event whose handlers wait
// for the handler's own event, directly or through others. Nothing was done: the wait
// would never have ended.
type WaitCycleError struct {
	// Path is the circle: the handler of each event waits for the next one. The first is
	// the event whose handler was refused, and it is the last again.
	Path []uuid.UUID
}

// Error lists the events of the circle.
func (e *WaitCycleError) Error() string {
	path := make([]string, len(e.Path))
	for i, id := range e.Path {
		path[i] = id.String()
	}
	return fmt.Sprintf("waiting for this event would never end, because the handlers wait in a circle: %s; "+
		"let one of them return without waiting for the next", strings.Join(path, " waits for "))
}
