package engine

import (
	"errors"
	"time"

	"github.com/google/uuid"
)

// To is a place in the log to which a subscription is rewound. The zero value is no
// place.
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

// RewindTo returns the sweep that rewinds a subscription to a place.
func RewindTo(t To, subscription string) (SweepSpec, error) {
	switch {
	case t.wrong != "":
		return SweepSpec{}, errors.New("rewind a subscription: " + t.wrong + "; for the whole log use ToBeginning")
	case !t.set:
		return SweepSpec{}, errors.New("rewind a subscription: say where to with ToBeginning, ToTime or ToEvent")
	}
	return SweepSpec{
		Kind: SweepRewind, Subscription: subscription, From: t.event, Filter: Filter{Since: t.at}, Detail: "to " + t.String(),
	}, nil
}
