package engine

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Reporter shows operators what the dispatching process does at the moment, and
// brings their requests to it.
type Reporter interface {
	// Show stores the activity in place of what was stored before, and removes the
	// requests that were answered. Close and TakeOver clear the activity.
	Show(ctx context.Context, a Activity, answered []BreakerRequest) error

	// WatchRequests calls f with the requests of operators when they are noticed.
	// It is called again with those that are not yet answered, and must not block.
	WatchRequests(f func([]BreakerRequest))
}

// Activity describes what the dispatching process does at the moment.
type Activity struct {
	Breakers []Breaker // those that are not closed
	Attempts []Running // those that have been running for long
	// Unhandled are the names of durable consumers with open deliveries for which the
	// process has no handler.
	Unhandled []string
}

// Breaker is a circuit breaker that is open or half-open.
type Breaker struct {
	Subscription string // in a group the member
	Group        string // empty outside of groups
	State        string
	Since        time.Time // when it opened
	Until        time.Time // when an open one tries the next event; zero for a half-open one
	Failures     int       // of the deliveries, when it opened or opened again
	Deliveries   int
	LastError    string
}

// Running is an attempt whose handler has not returned.
type Running struct {
	Subscription string // in a group the member
	Group        string // empty outside of groups
	Worker       int
	Event        uuid.UUID
	Type         string
	Attempt      int
	Started      time.Time
	Deadline     time.Time
	Abandoned    bool // its deadline has passed and its worker goes on without it
}

// BreakerRequest is an operator's wish to have a circuit breaker closed.
type BreakerRequest struct {
	Subscription string
	Actor        string
	At           time.Time
}
