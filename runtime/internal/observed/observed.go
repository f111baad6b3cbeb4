// Package observed is what package observe asks of an attempt, and package runtime answers: observe is a leaf, which
// knows no bus.
package observed

import (
	"iter"
	"time"

	"github.com/google/uuid"
)

// Attempt is an attempt that is about to begin.
type Attempt interface {
	Size() int // how many events it has
	Events() iter.Seq[Event]
}

// Event is one of its events.
type Event interface {
	Identity() Identity
	Metadata() map[string]string // without the bus's own keys; each call decodes it anew
	CorrelationID() string
	Replayed() bool
}

// Identity says which event it is, and which attempt at it.
type Identity struct {
	ID                   uuid.UUID
	Type                 string
	PublishedAt          time.Time
	Attempt, MaxAttempts int
}
