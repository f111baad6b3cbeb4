package engine

import (
	"context"
	"strings"
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
	// Waitlists, which only a reader is given, are those with the most parked deliveries, the largest first, whether a
	// process dispatches or not.
	Waitlists []event.Waitlist
}

// WaitlistsShown is how many waitlists a reader is given.
const WaitlistsShown = 20

// Named returns the waitlist of a name: its kind, for a limit the name of that, and the key.
func Named(waitlist string) (l event.Waitlist) {
	l.Kind, l.Key, _ = strings.Cut(waitlist, " ")
	if l.Kind == event.WaitlistLimit {
		l.Limit, l.Key, _ = strings.Cut(l.Key, " ")
	}
	return l
}

// BreakerRequest is an operator's wish to have a circuit breaker closed.
type BreakerRequest struct {
	Subscription string
	Key          string // of the breaker; empty for all of the subscription
	Actor        string
	At           time.Time
}
