package engine

import (
	"context"

	"github.com/busgen/busgen/runtime/event"
)

// Waiter waits until deliveries are settled, by this process or by another.
type Waiter interface {
	// Outcome waits until every delivery of the event at seq is settled.
	Outcome(ctx context.Context, seq int64) ([]Settlement, error)

	// WaitSettled waits until none of the consumers has an open delivery.
	WaitSettled(ctx context.Context, consumers []Consumer) error

	// AwaitSettled waits until a delivery is settled after the call, by this
	// process or, within a moment, by another; or until ctx ends.
	AwaitSettled(ctx context.Context) error
}

// Settlement is the state of one event for one subscription.
type Settlement struct {
	Subscription string
	State        string // one of the State constants
	Failures     int
	Reason       string // of a dead or discarded one
	Error        string // of the last failed attempt
}

// Cancelled tells whether the event was cancelled before the subscription had handled it.
func (s *Settlement) Cancelled() bool {
	return s.State == event.StateDiscarded && s.Reason == ReasonCancelled
}
