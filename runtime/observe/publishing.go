package observe

import (
	"time"

	"github.com/google/uuid"
)

// PublishingInfo describes a call that is about to publish events; see
// [Observer].Publishing.
type PublishingInfo struct {
	Type string
	Size int // how many events; 1 outside of PublishBatch
	// Metadata is what the caller has given, with runtime.WithMetadata and others. It must not be
	// changed.
	Metadata map[string]string
	Due      time.Time // of delayed events; else zero
	// ParentID is the event whose handler publishes with its context, or zero. Staged says
	// that the events are stored with the success of that handler.
	ParentID uuid.UUID
	Staged   bool
}

// Publishing is what an observer leaves with a call that publishes; see
// [Observer].Publishing. All of it is optional.
type Publishing struct {
	// Metadata is added to that of each event of the call. What the caller has given under the
	// same key stays, and so do the bus's own keys.
	Metadata map[string]string
	// Ended is called when the events are stored, or staged, or the call has failed.
	Ended func(PublishEnd)
}

// PublishEnd says what came of a call that publishes.
type PublishEnd struct {
	ID         uuid.UUID // of the first event; of an earlier one if that is a duplicate. Zero if the call has failed
	Duplicates int       // how many events were not stored because their dedupe keys were known
	Err        error     // what the call returns
}
