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
	// requests that were answered. CloseWithin and TakeOver clear the activity.
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
	// Saturated are the names of durable consumers whose handlers are busy all the time while
	// their backlog grows.
	Saturated []string
}

// Breaker is a circuit breaker that is open or half-open.
type Breaker struct {
	Subscription string    `json:"subscription"`         // in a group the member
	Group        string    `json:"group,omitempty"`      // empty outside of groups
	State        string    `json:"state"`                // open or half-open
	Since        time.Time `json:"since"`                // when it opened; UTC
	Until        time.Time `json:"until,omitzero"`       // when an open one tries the next event; UTC, zero for a half-open one
	Failures     int       `json:"failures"`             // of the deliveries, when it opened or opened again
	Deliveries   int       `json:"deliveries"`           // that counted then
	LastError    string    `json:"last_error,omitempty"` // why the last of them failed
}

// Running is an attempt whose handler has been running for long.
type Running struct {
	Subscription string    `json:"subscription"`    // in a group the member
	Group        string    `json:"group,omitempty"` // empty outside of groups
	Worker       int       `json:"worker"`          // of the subscription, from 0
	Event        uuid.UUID `json:"event"`
	Type         string    `json:"type"`
	Attempt      int       `json:"attempt"`
	Started      time.Time `json:"started"`           // UTC
	Deadline     time.Time `json:"deadline,omitzero"` // when its context ends or ended; UTC. Zero without a timeout
	// Abandoned says that the handler has ignored its deadline: the attempt has
	// failed, its delivery is retried or dead, and another worker has replaced its
	// worker.
	Abandoned bool `json:"abandoned"`
}

// BreakerRequest is an operator's wish to have a circuit breaker closed.
type BreakerRequest struct {
	Subscription string
	Actor        string
	At           time.Time
}
