package engine

import (
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
)

// Baggage is what a log of another engine needs in order to go on in the place of this one,
// but for the events.
type Baggage struct {
	Log           uuid.UUID // which log it is
	Types         []MovedType
	Schemas       []MovedSchema
	Subscriptions []MovedSubscription
	Pauses        []Pause
	Schedules     []event.Schedule
}

// MovedType is a type in one version.
type MovedType struct {
	Name    string // what it is called today
	Written string // what it was called when its events were published
	Version int
}

// MovedSchema is what the payload of a type looks like.
type MovedSchema struct {
	Type string
	event.Schema
}

// MovedSubscription is a durable name with its place in the log that is left.
type MovedSubscription struct {
	Name    string
	Former  []string
	Pattern string
	Start   int64 // it never gets events up to this one
	Cursor  int64 // events up to this one are settled, but for those with a delivery
}

// MovedEvent is an event that somebody has yet to settle or has given up, or an idempotency
// key whose event everybody has settled.
type MovedEvent struct {
	Record               // its Seq is that of the log that is left; without Open only that counts
	Open       bool      // the event itself moves
	Only       int       // the one subscription that it is for, by its place in the baggage; -1 for all that match
	Parent     uuid.UUID // of such a one: the event that it was made from
	Keys       []MovedKey
	Deliveries []MovedDelivery
}

// MovedKey is an idempotency key.
type MovedKey struct {
	Type    string // the name under which the event was published
	Version int
	Key     string
	ID      uuid.UUID // of the event
	Digest  []byte    // SHA-256 of its payload; empty if that is not known
	Expires time.Time
}

// MovedDelivery is a delivery that did not simply go well.
type MovedDelivery struct {
	Subscription int // its place in the baggage
	State        MovedState
	Reason       string // of a dead or cancelled one
	Fingerprint  string
	Died         time.Time // or was cancelled
	Due          time.Time // of a waiting one, zero for at once; of one with Held
	Held         time.Time // since when it is held for its version; else zero
	Since        time.Time
	Failures     int
	Uncounted    int
	MaxAttempts  int
	Snoozes      int
	Redriven     int
	Progress     string
	Crashed      bool
	Suspect      bool
	Replayed     bool
	PutOff       bool // it was tried, or its handler has put it off
	Retried      bool // it was dead, and was retried
	Attempts     []event.FailedAttempt
	History      int // of these were made before it was retried by hand
	Crashes      []event.SharedCrash
}

// MovedState says where a delivery stands.
type MovedState string

// The states.
const (
	MovedWaiting   MovedState = "waiting"
	MovedHeld      MovedState = "held"
	MovedDead      MovedState = "dead"
	MovedCancelled MovedState = "cancelled" // an operator or the program has discarded it
	MovedDone      MovedState = "done"      // ahead of the log
)
