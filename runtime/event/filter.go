package event

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Filter chooses events or dead letters: those to which everything that is set
// applies. The zero value chooses all. The fields Types, Events, CorrelationID, Text,
// Since, Until and Subscriptions are for both; Status, State and ChildOf are for events only;
// Reasons, Keys and Group are for dead letters only.
type Filter struct {
	Types         []string    // names or globs over event types, one of which matches: order.*
	Events        []uuid.UUID // one of which it is
	CorrelationID string      // of the event
	// Text is in the payload, in the error of an attempt or, of an event, in the
	// metadata, in the same case.
	Text string
	// Since and Until bound the time: of an event when it was published, at Since or
	// later and before Until; of a dead letter when it died, at Since or later and at
	// Until or earlier. An event of a publisher whose clock is an hour behind the
	// clocks of others may be missed.
	Since, Until time.Time

	// Subscriptions are names, current or former: a dead letter is of one of them, and an event
	// is for one of them.
	Subscriptions []string

	// Status is for events only: one of the Status constants.
	Status string
	// State is for events only: one of the State constants, in which the delivery to one of
	// Subscriptions is, or to any subscription without them.
	State string
	// ChildOf is for events only: those that a handler of this event has published,
	// and the dead-letter notices of this event. uuid.Nil for all.
	ChildOf uuid.UUID

	// The following are for dead letters only.
	Reasons []string // max_attempts, permanent, decode, crash, expired, max_snoozes, max_steps, undone, undo
	Keys    []Key    // one of which it is
	Group   string   // the fingerprint of a [FailureGroup]
}

// String describes the filter in words, as in the audit.
func (f Filter) String() string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+value)
		}
	}
	if len(f.Events) == 1 {
		add("event", f.Events[0].String())
	} else if len(f.Events) > 1 {
		add("one of", fmt.Sprint(len(f.Events), " given events"))
	}
	add("type", strings.Join(f.Types, " or "))
	add("status", f.Status)
	if f.ChildOf != uuid.Nil {
		add("child of", f.ChildOf.String())
	}
	add("subscription", strings.Join(f.Subscriptions, " or "))
	add("state", f.State)
	add("reason", strings.Join(f.Reasons, " or "))
	if len(f.Keys) == 1 {
		add("dead letter", f.Keys[0].String())
	} else if len(f.Keys) > 1 {
		add("one of", fmt.Sprint(len(f.Keys), " given dead letters"))
	}
	add("group", f.Group)
	if f.Text != "" {
		add("text", strconv.Quote(f.Text))
	}
	add("correlation", f.CorrelationID)
	if !f.Since.IsZero() {
		add("since", f.Since.UTC().Format(time.RFC3339Nano))
	}
	if !f.Until.IsZero() {
		add("until", f.Until.UTC().Format(time.RFC3339Nano))
	}
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, ", ")
}

// Key names a delivery: one event on its way to one subscription. A dead letter is
// named by it, because an event can be dead for several subscriptions.
type Key struct {
	EventID      uuid.UUID `json:"event_id"`
	Subscription string    `json:"subscription"`
}

// String formats the key as event-id/subscription.
func (k Key) String() string { return k.EventID.String() + "/" + k.Subscription }
