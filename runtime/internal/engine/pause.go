package engine

import (
	"context"
	"time"
)

// PauseStorer pauses and resumes, for all processes and starts.
type PauseStorer interface {
	// Pause stores a pause. Pausing what is paused changes nothing. The error matches
	// ErrUnknownConsumer for a subscription that does not exist.
	Pause(ctx context.Context, p Pause) error

	// Resume undoes Pause, and makes what was held due now, for a Key the first FreedAtOnce of what is parked in its
	// PauseWaitlist. Without such a pause it returns a *NotFoundError.
	Resume(ctx context.Context, p Pause) error
}

// Pauser keeps what is not delivered.
type Pauser interface {
	PauseStorer

	// Pauses returns what is paused, the oldest first.
	Pauses(ctx context.Context) ([]Pause, error)

	// WatchPauses calls f with what is paused, before it returns and whenever
	// that has changed, by this process or another.
	WatchPauses(ctx context.Context, f func([]Pause)) error
}

// Of returns what is paused, in words.
func (p Pause) Of() string {
	if p.Key == "" {
		return p.Target
	}
	return p.Target + ", key " + p.Key
}

// FreedAtOnce is how many parked deliveries become due when what all of a waitlist wait for ends. Each that is settled
// frees the next one, so that others have turns between them.
const FreedAtOnce = 32

// PauseWaitlist returns the waitlist of the deliveries that the pause of a key holds.
func PauseWaitlist(key string) string { return WaitlistOf("pause", key) }

// PauseKind is what a pause is about.
type PauseKind string

// The kinds of pauses.
const (
	PauseSubscription PauseKind = "subscription" // Target is a name
	PauseType         PauseKind = "type"         // Target is a glob over event types
)

// Pause says what is not delivered.
type Pause struct {
	Kind   PauseKind
	Target string
	// Key of a subscription pauses only the deliveries that have it: as their partition key, or by one of their limits or
	// their breaker. Empty for all.
	Key    string
	Since  time.Time // set by the log
	Actor  string    // who made it
	Reason string    // in words; may be empty
	// Besides are event types that Target matches only by a name that other processes
	// call them by; with spaces between them. Set by the log.
	Besides string
}
