package engine

import (
	"context"
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
