package event

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// The statuses of an event: the states of its deliveries taken together.
const (
	StatusPending    = "pending"    // some subscription has yet to settle it
	StatusProcessing = "processing" // a handler is known to run
	StatusDone       = "done"       // settled by all subscriptions
	StatusDLQ        = "dlq"        // a dead letter of some subscription, and settled by the others
)

// Event is one event with the states of its deliveries taken together. Its JSON is
// what "busgen events list --json" prints.
type Event struct {
	ID            uuid.UUID       `json:"id"`
	Type          string          `json:"type"`
	Version       int             `json:"version"`                  // of the payload
	Status        string          `json:"status"`                   // one of the Status constants
	PublishedAt   time.Time       `json:"published_at"`             // UTC
	Due           time.Time       `json:"due_at,omitzero"`          // of a delayed event; UTC
	Failures      int             `json:"failures"`                 // the most failed attempts of a subscription since it was last redriven
	CorrelationID string          `json:"correlation_id,omitempty"` // part of Metadata
	ParentID      uuid.UUID       `json:"parent_id,omitzero"`       // the event whose handler has published this one; part of Metadata
	PublishedBy   string          `json:"published_by,omitempty"`   // the subscription of that handler; part of Metadata
	Hops          int             `json:"hops,omitempty"`           // how many events are before it, up to the root; part of Metadata
	Payload       json.RawMessage `json:"payload"`                  // as stored, unless PayloadBytes says otherwise
	PayloadBytes  int64           `json:"payload_bytes,omitempty"`  // how many a long payload has, of which Payload is the beginning, as a text; else 0
	Metadata      json.RawMessage `json:"metadata,omitempty"`       // a JSON object of strings; nil without
	Seq           int64           `json:"-"`                        // its place in the log, which is the order of events
}

// EventHistory is one event with everything that became of it: its deliveries, their
// attempts, the events it was made from or into, and what operators did to it.
type EventHistory struct {
	Event
	MadeFrom   *uuid.UUID      `json:"made_from,omitempty"` // the event that an operator has edited into this one; nil for none
	MadeInto   []uuid.UUID     `json:"made_into,omitempty"` // the events that were made from this one
	Deliveries []DeliveryState `json:"deliveries"`          // one for each of its subscriptions, by name
	Running    []Running       `json:"running,omitempty"`   // its handlers that have been running for more than a second
	Audit      []AuditEntry    `json:"audit,omitempty"`     // what was done to it, alone or with others, oldest first
}

// The states of a delivery, besides StateDone, StateDead and StateDiscarded.
const (
	StatePending = "pending" // not yet tried
	StateRunning = "running" // a handler is known to run, or ran when its process died
	StateWaiting = "waiting" // for a retry, a delay or a snooze
	StateHeld    = "held"    // its type is paused, or its version newer than the program: see DeliveryState.Held
)

// DeliveryState is one event on its way to one subscription: where it stands, one of
// the State constants, with its failed attempts.
type DeliveryState struct {
	Subscription string    `json:"subscription"`
	State        string    `json:"state"`               // one of the State constants
	Due          time.Time `json:"due_at,omitzero"`     // of a waiting one; of one with Held: when it becomes a dead letter; UTC
	WaitsFor     string    `json:"waits_for,omitempty"` // of a waiting one that is parked: "limit mail acme", "key 17"
	Held         time.Time `json:"held_since,omitzero"` // of one that is held because the program cannot read its version; UTC
	Settled      time.Time `json:"settled_at,omitzero"` // when it died or was discarded; UTC
	Reason       string    `json:"reason,omitempty"`    // why it is dead or was discarded
	Failures     int       `json:"failures"`            // failed attempts, over its whole life
	// Counted is how many of them count against its max_attempts: those since it was
	// new or last retried by hand; 0 once it is settled.
	Counted  int             `json:"counted"`
	Attempts []FailedAttempt `json:"attempts,omitempty"`
	// Crashes are ends of the process while the handler ran that do not count as
	// failed attempts, because other handlers ran too.
	Crashes []SharedCrash `json:"crashes,omitempty"`
	// Run is the number of the run whose steps (package step) count: one more for each replay.
	Run int `json:"run,omitempty"`
	// Suspended says that a waiting one is not to be retried: its handler waits in a step.
	Suspended bool `json:"suspended,omitempty"`
	// Undoing says that the steps of the run are undone, or are to be.
	Undoing bool `json:"undoing,omitempty"`
	// Steps are what its handler has stored, the oldest first, those of earlier runs included.
	Steps []Step `json:"steps,omitempty"`
}

// Step is what a handler has done of an event, and stored (package step).
type Step struct {
	Run    int    `json:"run"`
	Member string `json:"member,omitempty"` // of a group: whose handler it was
	Name   string `json:"name"`             // "undo:charge" has undone charge, and "undo:" says why the steps are undone
	Kind   string `json:"kind"`             // do, tx, sleep, await, event, none (no event has come in time), lost (its result cannot be stored) or undo
	// Awaits are the types of the events of which it waits for the first one: of await, while the handler is suspended.
	Awaits []string `json:"awaits,omitempty"`
	// Result is JSON: of sleep and await the time when that ends; nil for event and none, and where it is hidden.
	Result  json.RawMessage `json:"result,omitempty"`
	Bytes   int             `json:"bytes"`            // of the result
	Undoes  bool            `json:"undoes,omitempty"` // it has a function that undoes it
	Attempt int             `json:"attempt"`          // that has stored it
	Started time.Time       `json:"started_at"`       // UTC
	At      time.Time       `json:"at"`               // when it was stored; UTC
}

// SharedCrash is an end of the process while several handlers ran. It counts as an
// attempt for none of them.
type SharedCrash struct {
	At     time.Time `json:"at"`     // when it was noticed; UTC
	Beside []Key     `json:"beside"` // the deliveries of the other handlers
}

// Unsettled is an event that some subscription has yet to settle, or has given up.
type Unsettled struct {
	ID   uuid.UUID
	Type string
	// Names are all names that the type ever had, the present one included: a program
	// may know another one only.
	Names   []string
	Version int    // of its payload
	Payload []byte // JSON; valid only until the function that was given it returns
	// Unreadable is why Payload is nil; nil for nearly all.
	Unreadable error
	Open       int // deliveries that are pending, waiting, held or running
	Dead       int // dead letters
}

// EventSearch is what a search has found that may look through a bounded number of events.
type EventSearch struct {
	Events []Event
	Next   string // the After of the next page; empty if nothing is left to look through
	// Back is when the last event that it looked through was published, if the bound has
	// ended the search; UTC. It is zero if the page is full, or nothing is left.
	Back time.Time
}

// Followed is a part of the log, read forwards by inspect.File.Newest or inspect.File.Follow.
type Followed struct {
	Events []Event // the oldest first
	Next   string  // the cursor of the part behind them; never empty
	More   bool    // there are more events at once
	// Pruned is how many events, of any type, were pruned between the cursor and the end of
	// this part, so that the caller cannot tell whether they matched.
	Pruned int64
	// Restarted says that the cursor is of another log or of a later state of this one: the
	// log was replaced or restored. The part begins with what was published since the cursor
	// was returned, by the time of the events.
	Restarted bool
}

// CorrelationKey is the key of the correlation id in an event's metadata.
const CorrelationKey = "correlation_id"

// The states of a settled delivery.
const (
	StateDone      = "done"
	StateDead      = "dead"
	StateDiscarded = "discarded"
)
