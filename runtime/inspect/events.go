package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Events returns events, the newest first: the order of the log, backwards. What is
// published while one goes from page to page is not on the later ones.
func (f *File) Events(ctx context.Context, filter event.Filter, page event.Page) (events []event.Event, next string, err error) {
	if err := checkEvents(filter); err != nil {
		return nil, "", err
	}
	if page, err = engine.CompletePage(page); err != nil {
		return nil, "", fmt.Errorf("list events: %w", err)
	}
	found, err := f.log.Events(ctx, engine.Filter{Filter: filter}, page, 0)
	return found.Events, found.Next, err
}

// SearchEvents is [File.Events] in steps that take a bounded time, for a large log and a
// filter that few events match: it looks through no more than most events, or a small
// multiple of them. If that ends the search, the page may have fewer events than its limit,
// or none, and Back says how far it looked; the next page goes on there. With Until it
// begins where the log was an hour after that time, so that events that were imported
// later are not found.
func (f *File) SearchEvents(ctx context.Context, filter event.Filter, page event.Page, most int) (event.EventSearch, error) {
	err := checkEvents(filter)
	if err == nil && most <= 0 {
		err = fmt.Errorf("search events: %d events to look through: it must be at least 1", most)
	}
	if err != nil {
		return event.EventSearch{}, err
	}
	if page, err = engine.CompletePage(page); err != nil {
		return event.EventSearch{}, fmt.Errorf("search events: %w", err)
	}
	return f.log.Events(ctx, engine.Filter{Filter: filter}, page, most)
}

// Event returns one event, or a *[event.NotFoundError].
func (f *File) Event(ctx context.Context, id uuid.UUID) (event.EventHistory, error) {
	return f.log.Event(ctx, id)
}

// FindEvent returns the one event whose id begins with prefix, so that people need not
// type all of it. The error is a *[event.NotFoundError] when there is none and an
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
		return uuid.Nil, &event.NotFoundError{Thing: "event", Name: prefix}
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
func (f *File) Unsettled(ctx context.Context, visit func(event.Unsettled)) error {
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
// Without an open delivery the error is a *[event.NotOpenError], and without the event or the
// subscription a *[event.NotFoundError].
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
// *[event.BegunError]. If the process does not answer within five seconds, or before ctx ends, it
// is an *[event.UnansweredError]: the event is cancelled all the same. If no process dispatches,
// nobody is asked. Without an open delivery the error is a *[event.NotOpenError], and without the
// event or the subscription a *[event.NotFoundError]. [File.Undiscard] undoes it.
func (f *File) CancelEvent(ctx context.Context, id uuid.UUID, subscription string) (subscriptions []string, err error) {
	return f.log.Cancel(ctx, engine.Cancellation{Event: id, Subscription: subscription, Reason: engine.ReasonCancelled, Actor: f.actor})
}

// Undiscard undoes discards: those of operators, by [File.DiscardEvent] or
// [File.DiscardDeadLetters], and those of handlers. A discarded dead letter is a dead letter
// again, with the time at which it died; everything else is due now. It is one
// transaction. A choice that matches nothing is no error.
func (f *File) Undiscard(ctx context.Context, u event.Undo) (event.Undone, error) {
	if (u.Event == uuid.Nil) == (u.Action == 0) {
		return event.Undone{}, errors.New("undo a discard: choose an event or an action")
	}
	return f.log.Undiscard(ctx, u)
}
