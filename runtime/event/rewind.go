package event

import (
	"errors"
	"time"

	"github.com/google/uuid"
)

// To is a place in the log to which a subscription is rewound: [ToBeginning], [ToTime] or
// [ToEvent]. The zero value is no place.
type To struct {
	set   bool
	at    time.Time // zero for any time
	event uuid.UUID // uuid.Nil for any event
	wrong string    // why it is no place, in words
}

// ToBeginning is the oldest event of the log.
func ToBeginning() To { return To{set: true} }

// ToTime is the first event that was published at a time or later.
func ToTime(at time.Time) To {
	if at.IsZero() {
		return To{wrong: "the time is zero"}
	}
	return To{set: true, at: at}
}

// ToEvent is an event.
func ToEvent(id uuid.UUID) To {
	if id == uuid.Nil {
		return To{wrong: "the id of the event is zero"}
	}
	return To{set: true, event: id}
}

// String names the place: beginning, a time in UTC, or the id of an event.
func (t To) String() string {
	switch {
	case !t.set:
		return "nowhere"
	case t.event != uuid.Nil:
		return t.event.String()
	case !t.at.IsZero():
		return t.at.UTC().Format(time.RFC3339Nano)
	}
	return "beginning"
}

// Place returns the event, or the time, at which the place is: uuid.Nil for any event, and zero for any time. The error
// says why it is no place.
func (t To) Place() (event uuid.UUID, since time.Time, err error) {
	switch {
	case t.wrong != "":
		return uuid.Nil, time.Time{}, errors.New(t.wrong + "; for the whole log use ToBeginning")
	case !t.set:
		return uuid.Nil, time.Time{}, errors.New("say where to with ToBeginning, ToTime or ToEvent")
	}
	return t.event, t.at, nil
}

// ReplayFilter chooses the events of a runtime.Bus.Replay: those to which everything that is set
// applies. The zero value chooses all.
type ReplayFilter struct {
	Types         []string    // names or globs over event types, one of which matches: order.*
	Events        []uuid.UUID // one of which it is
	CorrelationID string      // of the event
	ChildOf       uuid.UUID   // the id of the event whose handler published it
	Text          string      // in the payload or the metadata, in the same case
	// Since and Until bound when an event was published: at Since or later, and before
	// Until.
	Since, Until time.Time
}
