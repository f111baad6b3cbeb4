package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// History is one event with everything that became of it. Its JSON is what
// "busgen events show --json" prints.
type History struct {
	Event
	// MadeFrom is the event that an operator has corrected to make this one; nil
	// for none.
	MadeFrom *uuid.UUID `json:"made_from,omitempty"`
	// MadeInto are the events that were made from this one.
	MadeInto   []uuid.UUID `json:"made_into,omitempty"`
	Deliveries []Delivery  `json:"deliveries"`        // one for each subscription it is for, by name
	Running    []Running   `json:"running,omitempty"` // handlers at work with it for more than a second; see [File.Running]
	Audit      []Action    `json:"audit,omitempty"`   // what operators have done with it, alone or with others, oldest first
}

// The states of a delivery.
const (
	StatePending   = "pending"   // on its way, not yet tried
	StateRunning   = "running"   // a handler is known to run, or was when its process died
	StateWaiting   = "waiting"   // for a retry, a delay or a snooze
	StateHeld      = "held"      // its type is paused
	StateDead      = "dead"      // a dead letter
	StateDiscarded = "discarded" // settled without having been handled
	StateDone      = "done"      // handled
)

// Delivery is one event on its way to one subscription.
type Delivery struct {
	Subscription string    `json:"subscription"`
	State        string    `json:"state"`               // one of the State constants
	Due          time.Time `json:"due_at,omitzero"`     // of a waiting one; UTC
	Settled      time.Time `json:"settled_at,omitzero"` // when it died or was discarded; UTC
	Reason       string    `json:"reason,omitempty"`    // why it is dead or was discarded
	Failures     int       `json:"failures"`            // failed attempts, over its whole life
	// Counted is how many of them count against its max_attempts: those since it was
	// new or last retried by hand; 0 once it is settled.
	Counted  int       `json:"counted"`
	Attempts []Attempt `json:"attempts,omitempty"`
	// Crashes are ends of the process while the handler ran that do not count as
	// failed attempts, because others ran too.
	Crashes []Crash `json:"crashes,omitempty"`
}

// Crash is an end of the process while several handlers ran.
type Crash struct {
	At     time.Time `json:"at"`     // when it was noticed; UTC
	Beside []Ran     `json:"beside"` // the others that ran
}

// Ran is a delivery whose handler ran when the process ended.
type Ran struct {
	EventID      uuid.UUID `json:"event_id"`
	Subscription string    `json:"subscription"`
}

// Attempt is a failed execution of a handler.
type Attempt struct {
	Kind      string    `json:"kind"`                // error, panic, goexit, timeout, decode, crash or interrupted
	Started   time.Time `json:"started_at,omitzero"` // UTC; zero for a crash
	Ended     time.Time `json:"ended_at"`            // UTC; of a crash: when it was noticed
	Error     string    `json:"error"`
	ErrorType string    `json:"error_type,omitempty"` // the Go type of the error
	Member    string    `json:"member,omitempty"`     // of a group: whose handler failed
	Stack     string    `json:"stack,omitempty"`      // of a panic or goexit
}

// Action is something that an operator has done.
type Action struct {
	ID           int64     `json:"id"` // grows
	At           time.Time `json:"at"` // UTC
	Actor        string    `json:"actor"`
	Action       string    `json:"action"`            // retry, edit, discard, undiscard, replay, purge, import, pause, resume, remove, rename, redrive or close breaker
	EventID      uuid.UUID `json:"event_id,omitzero"` // zero for an action on many
	Subscription string    `json:"subscription,omitempty"`
	Count        int       `json:"count"` // how many deliveries it concerned
	Detail       string    `json:"detail,omitempty"`
}

// Event returns one event, or a *[NotFoundError].
func (f *File) Event(ctx context.Context, id uuid.UUID) (History, error) {
	var history History
	err := f.use(func(a *sqlite.Admin) error {
		found, ok, err := a.Event(ctx, id)
		if err == nil && !ok {
			err = &NotFoundError{Thing: "event", Name: id.String()}
		}
		history = historyOf(found)
		if err != nil {
			return err
		}
		activity, _, err := a.Activity(ctx)
		for _, r := range runningOf(activity.Attempts) {
			if r.Event == id {
				history.Running = append(history.Running, r)
			}
		}
		return err
	})
	return history, err
}

func historyOf(found sqlite.EventHistory) History {
	h := History{Event: eventOf(found.EventLine), MadeInto: found.Children, Deliveries: []Delivery{}}
	if found.Parent != uuid.Nil {
		h.MadeFrom = &found.Parent
	}
	for _, d := range found.Deliveries {
		h.Deliveries = append(h.Deliveries, Delivery{
			Subscription: d.Subscription, State: d.State, Due: d.Due, Settled: d.Settled, Reason: d.Reason,
			Failures: len(d.Attempts), Counted: d.Failures, Attempts: attemptsOf(d.Attempts), Crashes: crashesOf(d.Crashes),
		})
	}
	for _, a := range found.Audit {
		h.Audit = append(h.Audit, actionOf(a))
	}
	return h
}

func actionOf(a sqlite.AuditEntry) Action {
	return Action{
		ID: a.ID, At: a.At, Actor: a.Actor, Action: a.Action, EventID: a.Event, Subscription: a.Subscription, Count: a.Count, Detail: a.Detail,
	}
}

func crashesOf(found []sqlite.CrashHistory) (crashes []Crash) {
	for _, one := range found {
		crash := Crash{At: one.At, Beside: []Ran{}}
		for _, other := range one.Beside {
			crash.Beside = append(crash.Beside, Ran{EventID: other.Event, Subscription: other.Subscription})
		}
		crashes = append(crashes, crash)
	}
	return crashes
}

func attemptsOf(found []engine.FailedAttempt) (attempts []Attempt) {
	for _, a := range found {
		attempts = append(attempts, Attempt(a))
	}
	return attempts
}

// Find returns the one event whose id begins with prefix, so that people need
// not type all of it. The error is a *[NotFoundError] when there is none and an
// *[AmbiguousError] when there are several. The first 18 characters of an id
// nearly always suffice: they are its time, to a quarter of a microsecond.
func (f *File) Find(ctx context.Context, prefix string) (uuid.UUID, error) {
	const shown = 5
	digits, err := hexDigits(prefix)
	if err != nil {
		return uuid.Nil, err
	}
	var ids []uuid.UUID
	err = f.use(func(a *sqlite.Admin) (err error) {
		ids, err = a.EventsWithID(ctx, digits, shown+1)
		return err
	})
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
