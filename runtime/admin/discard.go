package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// Discarded names deliveries of an event, by their subscriptions.
type Discarded struct {
	Event         uuid.UUID `json:"id"`
	Subscriptions []string  `json:"subscriptions"`
}

// NotOpenError says that an event has no delivery that could be discarded.
type NotOpenError struct {
	Event  uuid.UUID
	States []string // of its deliveries: charge-card dead
}

// Error says what the deliveries are instead.
func (e *NotOpenError) Error() string {
	states := strings.Join(e.States, ", ")
	if states == "" {
		states = "it is for no such subscription"
	}
	return fmt.Sprintf("event %s has no open delivery: %s", e.Event, states)
}

// Discard settles the open deliveries of an event without their being handled: to
// one subscription, or to all for an empty name. They may be on their way,
// running, waiting or held; a dead one is for package dlq to discard. The reason is
// kept with the event, and is part of its outcome.
//
// The bus that runs on the file settles them within 200 ms, or when a pause of
// their subscription ends, and otherwise the next one at its start. Until then
// they count as backlog. A handler that is at work is not interrupted: if it
// succeeds, the delivery is done; if it fails, it is not tried again.
//
// Without an open delivery the error is a *[NotOpenError], and without the event
// or the subscription a *[NotFoundError].
func (f *File) Discard(ctx context.Context, id uuid.UUID, subscription, reason string) (Discarded, error) {
	discarded := Discarded{Event: id, Subscriptions: []string{}}
	if reason == "" {
		return discarded, errors.New("discard an event: the reason is empty; say in a few words why it need not be handled")
	}
	err := f.use(func(a *sqlite.Admin) error {
		if subscription != "" {
			if err := known(ctx, a, subscription); err != nil {
				return err
			}
		}
		found, others, exists, err := a.Discard(ctx, id, subscription, reason, f.actor)
		switch {
		case err != nil:
			return err
		case !exists:
			return &NotFoundError{Thing: "event", Name: id.String()}
		case len(found) == 0:
			missing := &NotOpenError{Event: id}
			for _, d := range others {
				missing.States = append(missing.States, d.Subscription+" "+d.State)
			}
			return missing
		}
		for _, d := range found {
			discarded.Subscriptions = append(discarded.Subscriptions, d.Subscription)
		}
		return nil
	})
	return discarded, err
}

// Undo chooses discards: those of an event, to one subscription if it is named,
// or those of one action.
type Undo struct {
	Event        uuid.UUID
	Subscription string
	Action       int64 // [Action].ID of a discard
}

// Undone says what became of the deliveries whose discard was undone.
type Undone struct {
	Dead int `json:"dead"` // are dead letters again
	Due  int `json:"due"`  // are tried again
	// Left were not touched: they were edited into another event, or were
	// discarded in this moment by a handler.
	Left int `json:"left"`
}

// Undiscard undoes discards, whoever has made them: an operator, here or with
// package dlq, or a handler. What was a dead letter is one again, with the time at
// which it died; everything else is due now. It is one transaction. A choice that
// matches nothing is no error.
func (f *File) Undiscard(ctx context.Context, u Undo) (undone Undone, err error) {
	if (u.Event == uuid.Nil) == (u.Action == 0) {
		return undone, errors.New("undo a discard: choose an event or an action")
	}
	err = f.use(func(a *sqlite.Admin) error {
		if u.Subscription != "" {
			if err := known(ctx, a, u.Subscription); err != nil {
				return err
			}
		}
		found, left, err := a.Undiscard(ctx, sqlite.Discards{Event: u.Event, Subscription: u.Subscription, Action: u.Action}, f.actor)
		for _, one := range found {
			if one.Dead {
				undone.Dead++
			} else {
				undone.Due++
			}
		}
		undone.Left = len(left)
		return err
	})
	return undone, err
}
