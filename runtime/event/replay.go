package event

import (
	"time"

	"github.com/google/uuid"
)

// ReplayFilter chooses the events of a runtime.Bus.Replay: those to which everything that is set
// applies. The zero value chooses all.
type ReplayFilter struct {
	Types         []string    // names or globs over event types, one of which matches: order.*
	Events        []uuid.UUID // one of which it is
	CorrelationID string      // of the event
	ChildOf       uuid.UUID   // the id of the event whose handler published it
	Text          string      // in the payload or the metadata, in the same case
	From          uuid.UUID   // an event: it is replayed, and those behind it in the log
	// Since and Until bound when an event was published: at Since or later, and before
	// Until.
	Since, Until time.Time
}
