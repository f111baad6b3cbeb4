package engine

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime/event"
)

// Reporter shows operators what the dispatching process does at the moment, and
// brings their requests to it.
type Reporter interface {
	// Show stores the activity in place of what was stored before, and removes the
	// requests that were answered. CloseWithin and TakeOver clear the activity.
	Show(ctx context.Context, a Activity, answered []BreakerRequest) error

	// WatchRequests calls f with the requests of operators when they are noticed.
	// It is called again with those that are not yet answered, and must not block.
	WatchRequests(f func([]BreakerRequest))
}

// Activity describes what the dispatching process does at the moment.
type Activity struct {
	Breakers []event.Breaker // those that are not closed; of a subscription with keys the first few
	Attempts []event.Running // those that have been running for long
	// Unhandled are the names of durable consumers with open deliveries for which the
	// process has no handler.
	Unhandled []string
	// Saturated are the names of durable consumers whose handlers are busy all the time while
	// their backlog grows.
	Saturated []string
}

// BreakerRequest is an operator's wish to have a circuit breaker closed.
type BreakerRequest struct {
	Subscription string
	Key          string // of the breaker; empty for all of the subscription
	Actor        string
	At           time.Time
}
