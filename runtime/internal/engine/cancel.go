package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Canceller cancels events before they are handled.
type Canceller interface {
	// Cancel discards the deliveries of an event that are open and do not run, and
	// returns the names of their subscriptions. With a nil error no attempt at them
	// begins after the return, in any process. The discards are on disk by then, and
	// last when the log is opened again.
	//
	// A delivery that was begun cannot be cancelled. It goes on, is not tried again if
	// it fails, and is named by a *BegunError. Another process that dispatches is asked;
	// if it does not answer the error is an *UnansweredError. Without an open delivery it
	// is a *NotOpenError, and without the event or the subscription a *NotFoundError.
	//
	// With Unasked, which only an Inspection heeds, no process is asked: also deliveries that were
	// begun are discarded, unless their handlers succeed, and are among those that it returns.
	Cancel(ctx context.Context, c Cancellation) ([]string, error)
}

// Cancellation says what to cancel.
type Cancellation struct {
	Event        uuid.UUID
	Subscription string // empty for all
	Reason       string // of the discard
	Actor        string // for the audit, which gets no entry if it is empty
	Unasked      bool   // of an operator: no process is asked whether handlers run
}

// ReasonCancelled is the reason of deliveries that were discarded by a cancel.
const ReasonCancelled = "cancelled"

// CancelPatience is how long Canceller.Cancel waits for the answer of another process.
const CancelPatience = 5 * time.Second

// BegunError says that an event was not cancelled completely, because handlers run.
type BegunError struct {
	ID        uuid.UUID // of the event
	Running   []string  // the subscriptions whose handlers run; they are not tried again if they fail
	Cancelled []string  // the subscriptions for which the event was cancelled
}

// Error names the subscriptions.
func (e *BegunError) Error() string {
	text := fmt.Sprintf("event %s is being handled by %s, which goes on and is not tried again if it fails", e.ID, strings.Join(e.Running, ", "))
	if len(e.Cancelled) > 0 {
		text += "; it is cancelled for " + strings.Join(e.Cancelled, ", ")
	}
	return text
}

// UnansweredError says that an event is cancelled, but that nobody knows whether a handler
// runs at this moment: the process that dispatches has not said so.
type UnansweredError struct {
	ID     uuid.UUID // of the event
	PID    int       // of the process that dispatches
	Waited time.Duration
	Err    error // why nobody waited for longer; nil if the time for an answer is over
}

// Error says what to do.
func (e *UnansweredError) Error() string {
	why := ""
	if e.Err != nil {
		why = ": " + e.Err.Error()
	}
	return fmt.Sprintf("event %s is cancelled, but process %d has not said within %v whether it is being handled%s; "+
		"perhaps the process hangs: look at what becomes of the event", e.ID, e.PID, e.Waited.Round(time.Millisecond), why)
}

// Unwrap returns why nobody waited for longer.
func (e *UnansweredError) Unwrap() error { return e.Err }
