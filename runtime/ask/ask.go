// Package ask has what comes of a question: an [Answer], or the reason why there is none. Package runtime asks
// (runtime.Request, runtime.Collect) and answers (runtime.SubscribeAnswer), mostly through generated functions; a
// handler that has no answer returns [ErrNoAnswer].
package ask

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// Answer is what one subscription has answered.
type Answer[R any] struct {
	Subscription string // its name; in a group that of the member
	Value        R
}

// ErrNoAnswer is returned by an runtime.AnswerHandler that has no answer, and by runtime.Request if
// nobody has one. The event is handled. So a handler that asks others and returns their
// error has no answer if they have none.
var ErrNoAnswer = errors.New("no answer")

// ErrAnswered is why the context of an runtime.AnswerHandler ends ([context.Cause]) when the
// caller has got its answers from others.
var ErrAnswered = errors.New("the request was answered by another handler")

// ErrNotDispatching is returned by runtime.Request and runtime.Collect on a bus that is not started.
// Answers do not travel between processes: ask on the bus that has the handlers.
var ErrNotDispatching = errors.New("the bus is not started, so nobody can answer: call Start first, and ask in the process that handles the events")

// NoAnswererError says that no subscription of the bus answers events of a type. Nothing
// was published. It matches [ErrNoAnswer].
type NoAnswererError struct{ EventType string }

// Error says what to do.
func (e *NoAnswererError) Error() string {
	return fmt.Sprintf("no subscription of this bus answers %s: subscribe with SubscribeAnswer, or the generated Answer function, before asking", e.EventType)
}

// Is makes the error match [ErrNoAnswer].
func (e *NoAnswererError) Is(target error) bool { return target == ErrNoAnswer }

// AnswerTypeError says that a subscription answers with another Go type than the caller
// wants. Generated code cannot make this mistake.
type AnswerTypeError struct {
	EventType    string
	Subscription string
	Answers      string // the Go type that the subscription answers with
	Wanted       string // the Go type that the caller wants
}

// Error names both types.
func (e *AnswerTypeError) Error() string {
	return fmt.Sprintf("subscription %q answers %s with a %s, and the caller wants a %s: use one type for both", e.Subscription, e.EventType, e.Answers, e.Wanted)
}

// InvalidAnswerError is the failure of an runtime.AnswerHandler whose answer is not valid.
type InvalidAnswerError struct {
	EventType string
	Err       error // what its Validate method has returned
}

// Error lists what is wrong.
func (e *InvalidAnswerError) Error() string {
	return fmt.Sprintf("the answer to this %s is not valid: %v", e.EventType, e.Err)
}

// Unwrap returns the cause.
func (e *InvalidAnswerError) Unwrap() error { return e.Err }

// AnswerError says why one subscription has not answered. Its delivery is a dead letter or was
// cancelled, or the subscription is gone.
type AnswerError struct {
	Subscription string // its name; in a group that of the member
	// Err of a dead letter is a *runtime.HandlerError, in which [errors.Is] and [errors.As] find what the
	// handler has returned in its last attempt. For a cancelled event it is a *runtime.CancelledError.
	Err error
}

// Error names the subscription.
func (e *AnswerError) Error() string {
	return fmt.Sprintf("subscription %q has not answered: %v", e.Subscription, e.Err)
}

// Unwrap returns the handler's error.
func (e *AnswerError) Unwrap() error { return e.Err }

// AllFailedError says that no handler has answered an event, because of errors.
type AllFailedError struct {
	EventType string
	ID        uuid.UUID      // of the event
	Failed    []*AnswerError // in the order in which they were given up, at least one
}

// Error lists the subscriptions with their errors.
func (e *AllFailedError) Error() string {
	texts := make([]string, len(e.Failed))
	for i, one := range e.Failed {
		texts[i] = one.Error()
	}
	return fmt.Sprintf("nobody has answered %s %s: %s", e.EventType, e.ID, strings.Join(texts, "; "))
}

// Unwrap returns the errors of the subscriptions.
func (e *AllFailedError) Unwrap() []error { return asErrors(e.Failed) }

func asErrors(failed []*AnswerError) []error {
	errs := make([]error, len(failed))
	for i, one := range failed {
		errs[i] = one
	}
	return errs
}
