package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Event is one event with the states of its deliveries taken together: one of the
// Status constants.
//
//	type Event struct {
//		ID            uuid.UUID
//		Type          string
//		Version       int             // of the payload
//		Status        string          // one of the Status constants
//		PublishedAt   time.Time       // UTC
//		Due           time.Time       // of a delayed event; UTC
//		Failures      int             // the most failed attempts of a subscription since it was last redriven
//		CorrelationID string          // part of Metadata
//		ParentID      uuid.UUID       // the event whose handler has published this one; part of Metadata
//		PublishedBy   string          // the subscription of that handler; part of Metadata
//		Hops          int             // how many events are before it, up to the root; part of Metadata
//		Payload       json.RawMessage // as stored, unless PayloadBytes says otherwise
//		PayloadBytes  int64           // how many a long payload has, of which Payload is the beginning, as a text; else 0
//		Metadata      json.RawMessage // a JSON object of strings; nil without
//		Seq           int64           // its place in the log, which is the order of events
//	}
type Event = engine.Event

// EventHistory is one event with everything that became of it: its deliveries, their
// attempts, the events it was made from or into, and what operators did to it.
//
//	type EventHistory struct {
//		Event
//		MadeFrom   *uuid.UUID      // the event that an operator has edited into this one; nil for none
//		MadeInto   []uuid.UUID     // the events that were made from this one
//		Deliveries []DeliveryState // one for each of its subscriptions, by name
//		Running    []Running       // its handlers that have been running for more than a second
//		Audit      []AuditEntry    // what was done to it, alone or with others, oldest first
//	}
type EventHistory = engine.EventHistory

// DeliveryState is one event on its way to one subscription: where it stands, one of
// the State constants, with its failed attempts.
//
//	type DeliveryState struct {
//		Subscription string
//		State        string    // one of the State constants
//		Due          time.Time // of a waiting one; of one with Held: when it becomes a dead letter; UTC
//		Held         time.Time // of one that is held because the program cannot read its version; UTC
//		Settled      time.Time // when it died or was discarded; UTC
//		Reason       string    // why it is dead or was discarded
//		Failures     int       // failed attempts, over its whole life
//		// Counted is how many of them count against its max_attempts: those since it was
//		// new or last retried by hand; 0 once it is settled.
//		Counted  int
//		Attempts []FailedAttempt
//		// Crashes are ends of the process while the handler ran that do not count as
//		// failed attempts, because other handlers ran too.
//		Crashes []SharedCrash
//	}
type DeliveryState = engine.DeliveryState

// SharedCrash is an end of the process while several handlers ran. It counts as an
// attempt for none of them.
//
//	type SharedCrash struct {
//		At     time.Time // when it was noticed; UTC
//		Beside []Key     // the deliveries of the other handlers
//	}
type SharedCrash = engine.SharedCrash

// Unsettled is an event that some subscription has yet to settle, or has given up.
//
//	type Unsettled struct {
//		ID   uuid.UUID
//		Type string
//		// Names are all names that the type ever had, the present one included: a program
//		// may know another one only.
//		Names   []string
//		Version int    // of its payload
//		Payload []byte // JSON; valid only until the function that was given it returns
//		// Unreadable is why Payload is nil; nil for nearly all.
//		Unreadable error
//		Open       int // deliveries that are pending, waiting, held or running
//		Dead       int // dead letters
//	}
type Unsettled = engine.Unsettled

// The statuses of an event.
const (
	StatusPending    = engine.StatusPending    // some subscription has yet to settle it
	StatusProcessing = engine.StatusProcessing // a handler is known to run
	StatusDone       = engine.StatusDone       // settled by all subscriptions
	StatusDLQ        = engine.StatusDLQ        // a dead letter of some subscription, and settled by the others
)

// The states of a delivery.
const (
	StatePending   = engine.StatePending   // not yet tried
	StateRunning   = engine.StateRunning   // a handler is known to run, or ran when its process died
	StateWaiting   = engine.StateWaiting   // for a retry, a delay or a snooze
	StateHeld      = engine.StateHeld      // its type is paused, or its version newer than the program
	StateDead      = engine.StateDead      // a dead letter
	StateDiscarded = engine.StateDiscarded // settled without having been handled
	StateDone      = engine.StateDone      // handled
)

// Events returns events, the newest first: the order of the log, backwards. What is
// published while one goes from page to page is not on the later ones.
func (f *File) Events(ctx context.Context, filter Filter, page Page) (events []Event, next string, err error) {
	if err := checkEvents(filter); err != nil {
		return nil, "", err
	}
	if page, err = page.Complete(); err != nil {
		return nil, "", fmt.Errorf("list events: %w", err)
	}
	found, err := f.log.Events(ctx, filter, page, 0)
	return found.Events, found.Next, err
}

// EventSearch is what [File.SearchEvents] has found.
//
//	type EventSearch struct {
//		Events []Event
//		Next   string // the After of the next page; empty if nothing is left to look through
//		// Back is when the last event that it looked through was published, if the bound has
//		// ended the search; UTC. It is zero if the page is full, or nothing is left.
//		Back time.Time
//	}
type EventSearch = engine.EventSearch

// SearchEvents is [File.Events] in steps that take a bounded time, for a large log and a
// filter that few events match: it looks through no more than most events, or a small
// multiple of them. If that ends the search, the page may have fewer events than its limit,
// or none, and Back says how far it looked; the next page goes on there. With Until it
// begins where the log was an hour after that time, so that events that were imported
// later are not found.
func (f *File) SearchEvents(ctx context.Context, filter Filter, page Page, most int) (EventSearch, error) {
	err := checkEvents(filter)
	if err == nil && most <= 0 {
		err = fmt.Errorf("search events: %d events to look through: it must be at least 1", most)
	}
	if err != nil {
		return EventSearch{}, err
	}
	if page, err = page.Complete(); err != nil {
		return EventSearch{}, fmt.Errorf("search events: %w", err)
	}
	return f.log.Events(ctx, filter, page, most)
}

// Event returns one event, or a *[NotFoundError].
func (f *File) Event(ctx context.Context, id uuid.UUID) (EventHistory, error) {
	return f.log.Event(ctx, id)
}

// FindEvent returns the one event whose id begins with prefix, so that people need not
// type all of it. The error is a *[NotFoundError] when there is none and an
// *[AmbiguousError] when there are several. The first 18 characters of an id nearly
// always suffice: they are its time, to a quarter of a microsecond.
func (f *File) FindEvent(ctx context.Context, prefix string) (uuid.UUID, error) {
	const shown = 5
	digits, err := hexDigits(prefix)
	if err != nil {
		return uuid.Nil, err
	}
	ids, err := f.log.EventsWithID(ctx, digits, shown+1)
	switch {
	case err != nil:
		return uuid.Nil, err
	case len(ids) == 0:
		return uuid.Nil, &NotFoundError{Thing: "event", Name: prefix}
	case len(ids) > 1:
		return uuid.Nil, &AmbiguousError{Prefix: prefix, IDs: ids[:min(shown, len(ids))], More: len(ids) > shown}
	}
	return ids[0], nil
}

// hexDigits returns the values of the digits of an id, or of its beginning.
func hexDigits(text string) ([]byte, error) {
	var digits []byte
	for _, c := range strings.ToLower(text) {
		switch {
		case c >= '0' && c <= '9':
			digits = append(digits, byte(c-'0'))
		case c >= 'a' && c <= 'f':
			digits = append(digits, byte(c-'a'+10))
		case c != '-':
			return nil, fmt.Errorf("%q is not the id of an event, or the beginning of one: want hexadecimal digits, as in 018f4f2e-1c3a-7b21", text)
		}
	}
	if len(digits) == 0 || len(digits) > 32 {
		return nil, fmt.Errorf("%q is not the id of an event, or the beginning of one: want 1 to 32 hexadecimal digits", text)
	}
	return digits, nil
}

// Unsettled calls visit for every event that is open or dead, in the order of the log,
// but not for events of the bus itself. It changes nothing and holds up no publisher, but
// the write-ahead log beside the file cannot shrink while it runs. visit must not call
// methods of f.
func (f *File) Unsettled(ctx context.Context, visit func(Unsettled)) error {
	return f.log.Unsettled(ctx, visit)
}

// DiscardEvent settles the open deliveries of an event without their being handled: to
// one subscription, or to all for an empty name. It returns the names of their
// subscriptions. A delivery is open if it is pending, running, waiting or held;
// [File.DiscardDeadLetters] is for dead ones. The reason is kept with the event, and is
// part of its outcome.
//
// The bus that runs on the file settles them within 200 ms, or when a pause of their
// subscription ends, and otherwise the next one at its start. Until then they count as
// backlog. A handler that is at work is not interrupted: if it succeeds, the delivery
// is done; if it fails, it is not tried again.
//
// Without an open delivery the error is a *[NotOpenError], and without the event or the
// subscription a *[NotFoundError].
func (f *File) DiscardEvent(ctx context.Context, id uuid.UUID, subscription, reason string) (subscriptions []string, err error) {
	if reason == "" {
		return nil, errors.New("discard an event: the reason is empty; say in a few words why it need not be handled")
	}
	return f.log.Cancel(ctx, engine.Cancellation{Event: id, Subscription: subscription, Reason: reason, Actor: f.actor, Unasked: true})
}

// CancelEvent keeps an event from being handled by one subscription, or by all for an empty
// name: its open deliveries whose handlers do not run are discarded, with the reason
// "cancelled". It returns the names of their subscriptions. With a nil error no handler is
// called for them after CancelEvent has returned. [File.DiscardEvent] takes any reason, and
// does not wait until that is certain.
//
// A process that dispatches is asked whether handlers run, which takes up to 200 ms. If
// some do, they go on, are not tried again if they fail, and the error is a
// *[BegunError]. If the process does not answer within five seconds, or before ctx ends, it
// is an *[UnansweredError]: the event is cancelled all the same. If no process dispatches,
// nobody is asked. Without an open delivery the error is a *[NotOpenError], and without the
// event or the subscription a *[NotFoundError]. [File.Undiscard] undoes it.
func (f *File) CancelEvent(ctx context.Context, id uuid.UUID, subscription string) (subscriptions []string, err error) {
	return f.log.Cancel(ctx, engine.Cancellation{Event: id, Subscription: subscription, Reason: engine.ReasonCancelled, Actor: f.actor})
}

// Undo chooses discards: those of an event, to one subscription if it is named, or
// those of one action of the audit.
//
//	type Undo struct {
//		Event        uuid.UUID
//		Subscription string
//		Action       int64 // AuditEntry.ID of a discard
//	}
type Undo = engine.Undo

// Undone counts what [File.Undiscard] has changed and left alone.
//
//	type Undone struct {
//		Dead int // are dead letters again
//		Due  int // are tried again
//		// Left were not changed: they were edited into another event, or a handler
//		// discarded them at this moment, or they were erased.
//		Left int
//	}
type Undone = engine.Undone

// Undiscard undoes discards: those of operators, by [File.DiscardEvent] or
// [File.DiscardDeadLetters], and those of handlers. A discarded dead letter is a dead letter
// again, with the time at which it died; everything else is due now. It is one
// transaction. A choice that matches nothing is no error.
func (f *File) Undiscard(ctx context.Context, u Undo) (Undone, error) {
	if (u.Event == uuid.Nil) == (u.Action == 0) {
		return Undone{}, errors.New("undo a discard: choose an event or an action")
	}
	return f.log.Undiscard(ctx, u)
}
