package event

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Breaker is a circuit breaker that is open or half-open.
type Breaker struct {
	Subscription string    `json:"subscription"`         // in a group the member
	Group        string    `json:"group,omitempty"`      // empty outside of groups
	Key          string    `json:"key,omitempty"`        // of a subscription with breakers by a field: the value
	State        string    `json:"state"`                // open or half-open
	Since        time.Time `json:"since"`                // when it opened; UTC
	Until        time.Time `json:"until,omitzero"`       // when an open one tries the next event; UTC, zero for a half-open one
	Failures     int       `json:"failures"`             // of the deliveries, when it opened or opened again
	Deliveries   int       `json:"deliveries"`           // that counted then
	LastError    string    `json:"last_error,omitempty"` // why the last of them failed
	// More is how many breakers of other keys of the subscription are not closed and not listed, because they opened
	// later. The last one that is listed says so.
	More int `json:"more,omitempty"`
}

// MaxBreakers is how many breakers of a subscription with breakers by a field are shown: those that opened first.
const MaxBreakers = 20

// The kinds of a [Waitlist].
const (
	WaitlistLimit   = "limit"   // there is no room in a limit
	WaitlistKey     = "key"     // another delivery of its partition key goes first
	WaitlistBreaker = "breaker" // the circuit breaker of its key is open
	WaitlistPause   = "pause"   // its key is paused
)

// Waitlist is what deliveries of a subscription wait for that are parked. See "Limits" in docs/semantics.md.
type Waitlist struct {
	Subscription string    `json:"subscription"`
	Kind         string    `json:"kind"`            // WaitlistLimit or another one
	Limit        string    `json:"limit,omitempty"` // its name, of WaitlistLimit
	Key          string    `json:"key,omitempty"`   // empty for a limit without keys; of a very long one the beginning
	Waiting      int       `json:"waiting"`         // deliveries
	Since        time.Time `json:"since"`           // when the first of them was published; UTC
}

// HeldBy returns those of the handlers that have a place in the limit for the key, which the deliveries wait for.
func (l Waitlist) HeldBy(running []Running) (holders []Running) {
	for _, r := range running {
		if l.Kind == WaitlistLimit && slices.Contains(r.Limits, Place{l.Limit, l.Key}) {
			holders = append(holders, r)
		}
	}
	return holders
}

// Place is a place in a limit.
type Place struct {
	Limit string `json:"limit"`         // its name
	Key   string `json:"key,omitempty"` // empty for a limit without keys; of a very long one the beginning
}

// Running is a handler that has been running for more than a second.
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
	// Limits are those in which it has a place at the moment. One that waits for another event has lent its places.
	Limits []Place `json:"limits,omitempty"`
}
